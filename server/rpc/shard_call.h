// ShardCall: a unary call that asks the shards something and waits for their
// answers; for tools, not for the hot path.
//
// Thread safety: as ParameterStream.

#ifndef SELARI_SERVER_RPC_SHARD_CALL_H_
#define SELARI_SERVER_RPC_SHARD_CALL_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/live_calls.h"
#include "server/shard/shard_host.h"

namespace selari {

class ShardCall final : public grpc::ServerUnaryReactor,
                        public ReplySink,
                        public LiveCall,
                        public std::enable_shared_from_this<ShardCall> {
 public:
  // What to ask: pushes and pulls only, at least one.
  struct Question {
    WorkerIdentity caller;
    std::vector<ShardRequest> requests;
    // Fills the response from the acks and values, in the order in which the
    // shards answered. Not called when a request was refused: the call then
    // ends with that error.
    std::function<absl::Status(const std::vector<ShardReply>&)> answer;
  };

  // The reactor to hand to gRPC. An error of `question` ends the call.
  static ShardCall* Start(ShardHost* host, LiveCalls* live_calls,
                          grpc::CallbackServerContext* context,
                          absl::StatusOr<Question> question);

  void OnReplies(std::vector<ShardReply> replies) override;
  void End(const absl::Status& status) override;
  void Abort() override;

  void OnCancel() override;
  void OnDone() override;

 private:
  ShardCall(ShardHost* host, LiveCalls* live_calls,
            grpc::CallbackServerContext* context)
      : host_(host), live_calls_(live_calls), context_(context) {}

  void FinishOnce(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  ShardHost* const host_;
  LiveCalls* const live_calls_;

  Mutex mu_;
  // gRPC's hold on this object, until OnDone.
  std::shared_ptr<ShardCall> self_ ABSL_GUARDED_BY(mu_);
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mu_);
  std::optional<ShardHost::SessionId> session_ ABSL_GUARDED_BY(mu_);
  std::function<absl::Status(const std::vector<ShardReply>&)> answer_
      ABSL_GUARDED_BY(mu_);
  size_t expected_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<ShardReply> replies_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_SHARD_CALL_H_
