// FakeServer: a server's control plane of which a test decides every answer.
// It outlives the ShardControls that lead to it.
//
// Thread safety: none; for tests on one thread.

#ifndef SELARI_SERVER_SHARD_CONTROL_FAKE_SHARD_CONTROL_H_
#define SELARI_SERVER_SHARD_CONTROL_FAKE_SHARD_CONTROL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/shard_control/shard_control.h"

namespace selari {

// The calls of one method that wait for an answer, oldest first.
template <class Request, class Response>
class FakeCalls {
 public:
  struct Call {
    Request request;
    ShardControl::Done<Response> done;
  };

  void Add(const Request& request, ShardControl::Done<Response> done) {
    calls_.push_back({request, std::move(done)});
    ++total_;
  }
  size_t waiting() const { return calls_.size(); }
  // Since the start.
  int total() const { return total_; }
  const Request& request(size_t i) const { return calls_[i].request; }
  // Answers call `i` and forgets it.
  void Answer(size_t i, absl::StatusOr<Response> response) {
    Call call = std::move(calls_[i]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
    call.done(std::move(response));
  }

 private:
  std::vector<Call> calls_;
  int total_ = 0;
};

struct FakeServer {
  FakeCalls<v1::AssignShardsRequest, v1::AssignShardsResponse> assigns;
  FakeCalls<v1::PauseShardsRequest, v1::PauseShardsResponse> pauses;
  FakeCalls<v1::ResumeShardsRequest, v1::ResumeShardsResponse> resumes;
  FakeCalls<v1::SaveShardsRequest, v1::SaveShardsResponse> saves;
  FakeCalls<v1::TrimJournalsRequest, v1::TrimJournalsResponse> trims;
  FakeCalls<v1::GetShardStatusRequest, v1::GetShardStatusResponse> statuses;
  FakeCalls<v1::EndJobRequest, v1::EndJobResponse> ends;
};

class FakeShardControl : public ShardControl {
 public:
  explicit FakeShardControl(FakeServer* server) : server_(*server) {}

  void AssignShards(const v1::AssignShardsRequest& request,
                    Done<v1::AssignShardsResponse> done) override {
    server_.assigns.Add(request, std::move(done));
  }
  void PauseShards(const v1::PauseShardsRequest& request,
                   Done<v1::PauseShardsResponse> done) override {
    server_.pauses.Add(request, std::move(done));
  }
  void ResumeShards(const v1::ResumeShardsRequest& request,
                    Done<v1::ResumeShardsResponse> done) override {
    server_.resumes.Add(request, std::move(done));
  }
  void SaveShards(const v1::SaveShardsRequest& request,
                  Done<v1::SaveShardsResponse> done) override {
    server_.saves.Add(request, std::move(done));
  }
  void TrimJournals(const v1::TrimJournalsRequest& request,
                    Done<v1::TrimJournalsResponse> done) override {
    server_.trims.Add(request, std::move(done));
  }
  void GetShardStatus(const v1::GetShardStatusRequest& request,
                      Done<v1::GetShardStatusResponse> done) override {
    server_.statuses.Add(request, std::move(done));
  }
  void EndJob(const v1::EndJobRequest& request,
              Done<v1::EndJobResponse> done) override {
    server_.ends.Add(request, std::move(done));
  }

 private:
  FakeServer& server_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_FAKE_SHARD_CONTROL_H_
