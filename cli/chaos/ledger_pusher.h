// LedgerPusher: a worker of a ledger, in this process: the client that training
// uses, and no model. In each round it pulls every page, checks that it holds
// what it must (below), and pushes its 1 to each until all are acknowledged.
//
// What a pull must hold, beside each push counted once:
//   * of this worker, exactly the rounds that were acknowledged;
//   * of each other worker never fewer rounds than the pull before, and no more
//     than it has begun;
//   * SYNC: of all workers this one's rounds; BOUNDED(s): of all workers at
//     least this one's rounds less s.
//
// Thread safety: Run from one thread, the rest from any.

#ifndef SELARI_CLI_CHAOS_LEDGER_PUSHER_H_
#define SELARI_CLI_CHAOS_LEDGER_PUSHER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/chaos/ledger_page.h"
#include "selari/v1/job.pb.h"
#include "worker/client/parameter_client.h"

namespace selari {

// What the workers of a ledger share.
struct LedgerShared {
  explicit LedgerShared(int32_t workers)
      : begun(static_cast<size_t>(workers)),
        done(static_cast<size_t>(workers)) {}

  // Rounds that each worker has begun to push, and that were acknowledged.
  std::vector<std::atomic<int64_t>> begun;
  std::vector<std::atomic<int64_t>> done;
  // All end with this round.
  std::atomic<int64_t> end_round{int64_t{1} << 62};
  // What the first pull that was wrong showed.
  std::atomic<int64_t> lost{0};
  std::atomic<int64_t> doubled{0};
  // Some worker's Run ended with an error.
  std::atomic<bool> failed{false};
};

class LedgerPusher {
 public:
  struct Options {
    std::string coordinator;  // host:port
    int32_t worker_id = 0;
    std::vector<LedgerPage> pages;   // by tensor
    LedgerShared* shared = nullptr;  // borrowed
  };

  explicit LedgerPusher(Options options) : options_(std::move(options)) {}

  // Blocks until the last round is acknowledged. DATA_LOSS when a pull does not
  // hold what it must; else an error of the cluster.
  absl::Status Run();

 private:
  absl::Status Join();
  absl::Status Work(const v1::ResolvedJob& job, ParameterClient* client);
  absl::Status CheckPull(const v1::Job& job, ParameterClient* client,
                         int64_t round, bool exact);
  absl::Status CheckPage(const v1::Job& job, int32_t tensor, int64_t round,
                         bool exact, absl::Span<const float> values);
  absl::Status WaitForAll(int64_t round);
  int64_t& SeenRounds(int32_t tensor, int32_t worker);

  const Options options_;
  std::vector<int64_t> seen_;  // (tensors, workers)
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_LEDGER_PUSHER_H_
