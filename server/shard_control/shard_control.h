// ShardControl: the control plane of one server, as the coordinator sees it.
// Two implementations: GrpcShardControl (another process) and
// LocalShardControl (a ShardHost in this process, which is also what
// ShardService calls on the other side of the wire).
//
// Messages and errors are those of selari.v1.ShardService.
//
// Thread safety: all methods from any thread. No method blocks. Each calls
// `done` exactly once, from any thread, possibly before it returns.

#ifndef SELARI_SERVER_SHARD_CONTROL_SHARD_CONTROL_H_
#define SELARI_SERVER_SHARD_CONTROL_SHARD_CONTROL_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/shard_service.pb.h"

namespace selari {

class ShardControl {
 public:
  template <class Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  // Calls that are still open end with CANCELLED before it returns.
  virtual ~ShardControl() = default;

  virtual void AssignShards(const v1::AssignShardsRequest& request,
                            Done<v1::AssignShardsResponse> done) = 0;
  virtual void PauseShards(const v1::PauseShardsRequest& request,
                           Done<v1::PauseShardsResponse> done) = 0;
  virtual void ResumeShards(const v1::ResumeShardsRequest& request,
                            Done<v1::ResumeShardsResponse> done) = 0;
  virtual void SaveShards(const v1::SaveShardsRequest& request,
                          Done<v1::SaveShardsResponse> done) = 0;
  virtual void TrimJournals(const v1::TrimJournalsRequest& request,
                            Done<v1::TrimJournalsResponse> done) = 0;
  virtual void GetShardStatus(const v1::GetShardStatusRequest& request,
                              Done<v1::GetShardStatusResponse> done) = 0;
  virtual void EndJob(const v1::EndJobRequest& request,
                      Done<v1::EndJobResponse> done) = 0;
};

// The way to one server of the map; never null.
using ShardControlFactory =
    std::function<std::unique_ptr<ShardControl>(const v1::ServerEntry&)>;

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_SHARD_CONTROL_H_
