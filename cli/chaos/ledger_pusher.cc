#include "cli/chaos/ledger_pusher.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/coordinator_client.h"
#include "common/float_buffer.h"
#include "common/grpc_coordinator_client.h"
#include "common/incarnation.h"
#include "common/job_compression.h"
#include "common/job_reduction.h"
#include "common/lease_keeper.h"
#include "common/reduction_tree.h"
#include "common/retry.h"
#include "common/status.h"
#include "common/stop_token.h"
#include "worker/client/cancellable_transport.h"
#include "worker/client/grpc_transport.h"
#include "worker/client/parameter_client_impl.h"
#include "worker/map_refresher.h"

namespace selari {
namespace {

// A round that needs longer than any recovery does has hung.
constexpr int64_t kGiveUpMs = 60'000;
constexpr int64_t kPollMs = 10;

RetryOptions Retry(const std::string& coordinator, const Clock* clock) {
  RetryOptions retry;
  retry.peer = absl::StrCat("the coordinator at ", coordinator);
  retry.timeout_ms = kGiveUpMs;
  retry.clock = clock;
  retry.wait_ms = [](int64_t ms) {
    const StopToken never;
    return never.WaitForMs(ms);
  };
  return retry;
}

std::vector<TreeNode> NodesOf(const v1::Job& job, int32_t worker) {
  const int32_t leaves = job.training().leaf_count();
  return NodesToPush(job, IsSync(job) ? ReductionTree(leaves).LeavesOfWorker(
                                            worker, job.cluster().workers())
                                      : LeafRange{0, leaves});
}

}  // namespace

int64_t& LedgerPusher::SeenRounds(int32_t tensor, int32_t worker) {
  const int32_t workers = options_.pages.front().workers;
  return seen_[static_cast<size_t>(tensor * workers + worker)];
}

absl::Status LedgerPusher::CheckPage(const v1::Job& job, int32_t tensor,
                                     int64_t round, bool exact,
                                     absl::Span<const float> values) {
  const LedgerPage& page = options_.pages[static_cast<size_t>(tensor)];
  for (int32_t worker = 0; worker < page.workers; ++worker) {
    const int64_t rounds = RoundsIn(page, worker, values);
    const LedgerDifference wrong = CompareRounds(page, worker, rounds, values);
    int64_t least = SeenRounds(tensor, worker);
    int64_t most = options_.shared->begun[static_cast<size_t>(worker)].load();
    if (exact || worker == options_.worker_id) {
      least = round;
      most = round;
    } else if (job.consistency().mode() == v1::CONSISTENCY_BOUNDED) {
      least = std::max(least, round - job.consistency().staleness());
    }
    if (!wrong.none() || rounds < least || rounds > most) {
      options_.shared->lost.store(wrong.lost +
                                  std::max<int64_t>(0, least - rounds));
      options_.shared->doubled.store(wrong.doubled +
                                     std::max<int64_t>(0, rounds - most));
      return absl::DataLossError(absl::StrCat(
          "worker ", options_.worker_id, " pulled page ", tensor, " in round ",
          round, ": it holds ", rounds, " rounds of worker ", worker,
          ", must be ", least, " to ", most, "; among them ", wrong.lost,
          " pushes are missing and ", wrong.doubled, " count twice"));
    }
    SeenRounds(tensor, worker) = rounds;
  }
  return absl::OkStatus();
}

// `exact`: all workers have done just the rounds before this one.
absl::Status LedgerPusher::CheckPull(const v1::Job& job,
                                     ParameterClient* client, int64_t round,
                                     bool exact) {
  const auto tensors = static_cast<int32_t>(options_.pages.size());
  client->RequestPulls(0, tensors, round);
  for (int32_t tensor = 0; tensor < tensors; ++tensor) {
    SELARI_ASSIGN_OR_RETURN(const absl::Span<const float> values,
                            client->WaitForTensor(tensor));
    SELARI_RETURN_IF_ERROR(CheckPage(job, tensor, round, exact, values));
  }
  return absl::OkStatus();
}

absl::Status LedgerPusher::WaitForAll(int64_t round) {
  const StopToken never;
  for (const std::atomic<int64_t>& done : options_.shared->done) {
    while (done.load() < round) {
      if (options_.shared->failed.load()) {
        return absl::AbortedError("another worker of the ledger failed");
      }
      never.WaitForMs(kPollMs);
    }
  }
  return absl::OkStatus();
}

absl::Status LedgerPusher::Work(const v1::ResolvedJob& job,
                                ParameterClient* client) {
  const auto id = static_cast<size_t>(options_.worker_id);
  const std::vector<TreeNode> nodes = NodesOf(job.job(), options_.worker_id);
  seen_.assign(options_.pages.size() *
                   static_cast<size_t>(options_.pages.front().workers),
               0);
  const bool sync = IsSync(job.job());
  int64_t round = 0;
  for (; round < options_.shared->end_round.load(); ++round) {
    SELARI_RETURN_IF_ERROR(CheckPull(job.job(), client, round, sync));
    options_.shared->begun[id].store(round + 1);
    for (size_t tensor = 0; tensor < options_.pages.size(); ++tensor) {
      const LedgerPage& page = options_.pages[tensor];
      for (size_t node = 0; node < nodes.size(); ++node) {
        // Each push keeps its own: a shard may read it until it answers.
        std::shared_ptr<FloatBuffer> gradient = client->NewBuffer(page.size());
        std::fill_n(gradient->data(), page.size(), 0.0f);
        if (node == 0) {
          gradient->data()[page.CellOf(options_.worker_id, round)] = -1.0f;
        }
        SELARI_RETURN_IF_ERROR(client->Push(round, nodes[node],
                                            static_cast<int32_t>(tensor),
                                            std::move(gradient)));
      }
    }
    SELARI_RETURN_IF_ERROR(client->Flush());
    options_.shared->done[id].store(round + 1);
  }
  SELARI_RETURN_IF_ERROR(WaitForAll(round));
  return CheckPull(job.job(), client, round, /*exact=*/true);
}

absl::Status LedgerPusher::Run() {
  absl::Status status = Join();
  if (!status.ok()) {
    options_.shared->failed.store(true);
  }
  return status;
}

absl::Status LedgerPusher::Join() {
  const SystemClock clock;
  const auto coordinator = MakeGrpcCoordinatorClient({options_.coordinator});
  const RetryOptions retry = Retry(options_.coordinator, &clock);
  SELARI_ASSIGN_OR_RETURN(const v1::GetJobResponse job,
                          CallUntilAnswered<v1::GetJobResponse>(
                              retry, [&] { return coordinator->GetJob(); }));
  v1::RegisterWorkerRequest request;
  request.set_worker_id(options_.worker_id);
  request.set_incarnation(NewIncarnation());
  request.set_instruction_set(job.job().job().cluster().instruction_set());
  request.set_job_id(job.job().job_id());
  SELARI_ASSIGN_OR_RETURN(const v1::RegisterWorkerResponse joined,
                          coordinator->RegisterWorker(request));
  const WorkerIdentity identity = {joined.worker_id(), request.incarnation()};
  std::atomic<int64_t> newest_map{0};
  TransportSwitch off;
  LeaseKeeper::Options lease;
  lease.client = coordinator.get();
  lease.clock = &clock;
  lease.request.set_kind(v1::MEMBER_KIND_WORKER);
  lease.request.set_member_id(identity.worker_id);
  lease.request.set_incarnation(identity.incarnation);
  lease.interval_ms = LeaseKeeper::IntervalForLease(joined.lease_ms());
  lease.on_renewal = [&](const auto& renewal, int64_t) {
    if (renewal.ok()) {
      newest_map.store(renewal->shard_map_version());
      if (renewal->state() == v1::JOB_STATE_FAILED) {
        off.Cancel(absl::AbortedError("the ledger's job failed"));
      }
    }
    return true;
  };
  const LeaseKeeper keeper(lease);
  SELARI_ASSIGN_OR_RETURN(
      const v1::GetShardMapResponse map,
      CallUntilAnswered<v1::GetShardMapResponse>(
          retry, [&] { return coordinator->GetShardMap(); }));
  GrpcTransportOptions transport;
  transport.give_up_ms = kGiveUpMs;
  SELARI_ASSIGN_OR_RETURN(
      std::unique_ptr<ShardTransport> servers,
      MakeGrpcTransport(job.job(), map.shard_map(),
                        {identity.worker_id, NewIncarnation()}, transport));
  MapRefresher::Options refresher;
  refresher.client = coordinator.get();
  refresher.transport = &off;
  refresher.identity = identity;
  refresher.map_version = map.shard_map().version();
  refresher.newest_version = [&newest_map] { return newest_map.load(); };
  const MapRefresher maps(refresher);
  ParameterClientOptions client_options;
  client_options.connect_timeout_ms = kGiveUpMs;
  SELARI_ASSIGN_OR_RETURN(
      const std::unique_ptr<ParameterClient> client,
      ConnectParameterClient(
          job.job(),
          std::make_unique<CancellableTransport>(std::move(servers), &off),
          client_options));
  return Work(job.job(), client.get());
}

}  // namespace selari
