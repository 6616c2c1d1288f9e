#include "server/rpc/shard_call.h"

#include <utility>
#include <variant>

#include "common/grpc_status.h"

namespace selari {

ShardCall* ShardCall::Start(ShardHost* host, LiveCalls* live_calls,
                            grpc::CallbackServerContext* context,
                            absl::StatusOr<Question> question) {
  std::shared_ptr<ShardCall> call(new ShardCall(host, live_calls, context));
  absl::Status status = question.status();
  if (status.ok()) {
    status = live_calls->Add(call);
  }
  {
    MutexLock lock(&call->mu_);
    call->self_ = call;
    if (!status.ok()) {
      call->FinishOnce(status);
      return call.get();
    }
    call->answer_ = std::move(question->answer);
    call->expected_ = question->requests.size();
  }
  const ShardHost::SessionId session = host->Connect(question->caller, call);
  {
    MutexLock lock(&call->mu_);
    call->session_ = session;
  }
  host->Submit(session, std::move(question->requests));
  return call.get();
}

void ShardCall::OnReplies(std::vector<ShardReply> replies) {
  MutexLock lock(&mu_);
  for (ShardReply& reply : replies) {
    if (finished_) {
      return;
    }
    if (const auto* error = std::get_if<RequestError>(&reply)) {
      FinishOnce(
          WithReason(error->status, error->reason, error->retry_after_ms));
    } else if (!std::holds_alternative<ReductionPartials>(reply)) {
      replies_.push_back(std::move(reply));
    }
  }
  if (!finished_ && replies_.size() == expected_) {
    FinishOnce(answer_(replies_));
  }
}

void ShardCall::End(const absl::Status& status) {
  MutexLock lock(&mu_);
  FinishOnce(status);
}

void ShardCall::Abort() {
  MutexLock lock(&mu_);
  if (context_ != nullptr) {
    context_->TryCancel();
  }
}

void ShardCall::OnCancel() { End(absl::CancelledError("the call was ended")); }

void ShardCall::OnDone() {
  std::shared_ptr<ShardCall> self;
  std::optional<ShardHost::SessionId> session;
  {
    MutexLock lock(&mu_);
    self = std::move(self_);
    session = session_;
    context_ = nullptr;
    replies_.clear();
  }
  if (session.has_value()) {
    host_->Disconnect(*session);
  }
  live_calls_->Remove(self);
}

void ShardCall::FinishOnce(const absl::Status& status) {
  if (!finished_) {
    finished_ = true;
    // What it refers to ends with the call.
    answer_ = nullptr;
    Finish(ToGrpcStatus(status));
  }
}

}  // namespace selari
