// The way to RUNNING, at first and after a loss: the part of Coordinator that
// gives servers their shards.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/job_reduction.h"
#include "common/status.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/shard_map.h"

namespace selari {

void Coordinator::MaybeInitialize() {
  const std::vector<Member>& servers =
      membership_.members(v1::MEMBER_KIND_SERVER);
  if (state_ != v1::JOB_STATE_JOINING ||
      !membership_.Missing(v1::MEMBER_KIND_SERVER).empty()) {
    return;
  }
  const int64_t version = shard_map_.version() + 1;
  shard_map_ = MakeFirstShardMap(servers, cluster_.shard_count());
  shard_map_.set_version(version);
  Persist(kShardMapKey, shard_map_.SerializeAsString());
  if (!recovering_) {
    base_map_version_ = version;
    if (version > 1) {
      base_ = newest_;
      progress_.RollBack(base_.step);
    }
  }
  std::move(controls_.begin(), controls_.end(),
            std::back_inserter(old_controls_));
  controls_.clear();
  assigned_.assign(servers.size(), false);
  assigned_version_ = 0;
  for (const v1::ServerEntry& server : shard_map_.servers()) {
    controls_.push_back(make_control_(server));
    SELARI_CHECK(controls_.back() != nullptr);
  }
  SetState(v1::JOB_STATE_INITIALIZING);
  for (size_t server = 0; server < controls_.size(); ++server) {
    AssignShards(server);
  }
}

void Coordinator::AssignShards(size_t server) {
  v1::AssignShardsRequest request;
  *request.mutable_job() = options_.job;
  request.set_incarnation(shard_map_.servers(server).incarnation());
  request.set_server_id(shard_map_.servers(server).server_id());
  *request.mutable_shard_map() = shard_map_;
  // A recovery may as well begin with a later one: it has less to read.
  request.set_checkpoint(recovering_ ? newest_.path : base_.path);
  request.set_journal_directory(options_.journal_directory);
  request.set_recover(recovering_);
  control_executor_->Post([this, server, request = std::move(request),
                           control = controls_[server].get()] {
    control->AssignShards(
        request, [this, server, version = request.shard_map().version()](
                     const absl::StatusOr<v1::AssignShardsResponse>& reply) {
          Enter([&] {
            mu_.AssertHeld();
            OnAssigned(version, server, reply);
          });
        });
  });
}

void Coordinator::OnAssigned(
    int64_t map_version, size_t server,
    const absl::StatusOr<v1::AssignShardsResponse>& response) {
  if (state_ != v1::JOB_STATE_INITIALIZING ||
      map_version != shard_map_.version()) {
    return;
  }
  const absl::Status& status = response.status();
  if (absl::IsUnavailable(status)) {
    const auto id = static_cast<int32_t>(server);
    membership_.EndLease(v1::MEMBER_KIND_SERVER, id, clock_.NowMs());
    LoseServer(id, absl::StrCat("cannot be reached (", status.message(), ")"));
    return;
  }
  if (absl::IsDataLoss(status) && map_version > 1) {
    Fail(absl::DataLossError(absl::StrCat(
        "server ", server, ": ", status.message(), "; --resume goes on from ",
        recovering_ ? "the newest checkpoint" : "the checkpoint before it")));
    return;
  }
  if (!status.ok()) {
    Fail(Annotate(status, absl::StrCat("server ", server)));
    return;
  }
  assigned_[server] = true;
  ++change_count_;
  for (const v1::ShardStatus& shard : response->shards()) {
    assigned_version_ = std::max(assigned_version_, shard.max_version());
  }
  if (std::find(assigned_.begin(), assigned_.end(), false) == assigned_.end()) {
    OnAllAssigned();
  }
}

void Coordinator::OnAllAssigned() {
  std::vector<CheckpointOrchestrator::Server> servers;
  for (size_t i = 0; i < controls_.size(); ++i) {
    servers.push_back({shard_map_.servers(i).server_id(),
                       shard_map_.servers(i).incarnation(),
                       controls_[i].get()});
  }
  SetState(v1::JOB_STATE_RUNNING);
  if (!recovering_) {
    orchestrator_.Start(std::move(servers), base_.step);
    return;
  }
  recovering_ = false;
  // In SYNC the shards know it better than reports that are under way.
  orchestrator_.Start(
      std::move(servers),
      std::max(progress_.step(),
               IsSync(options_.job.job()) ? assigned_version_ : 0),
      /*anew=*/false);
  if (!stops_.empty()) {
    Stop();
  } else if (progress_.all_finished()) {
    Finish();
  }
}

}  // namespace selari
