// Logs of real shards, for tests of the journal.

#ifndef SELARI_SERVER_LOG_JOURNAL_TEST_UTIL_H_
#define SELARI_SERVER_LOG_JOURNAL_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/shard_snapshot.h"
#include "selari/v1/job.pb.h"
#include "server/log/journal_header.h"
#include "server/log/journal_reader.h"
#include "server/shard/shard_job.h"
#include "server/shard/shard_op.h"
#include "server/shard/shard_state.h"

namespace selari {

// What happened to one shard.
struct RecordedLog {
  std::shared_ptr<const ShardJob> job;
  int32_t shard = 0;
  std::vector<ShardOp> ops;  // from the initial state on
  std::string end;           // Fingerprint of the shard itself
  ShardSnapshot snapshot;    // taken somewhere in the middle

  JournalId id() const { return {job->resolved.job_id(), shard}; }
};

using Tensors = std::vector<std::pair<std::string, int64_t>>;

// All shards of a SYNC job after some steps of SyncSimulation, with several
// contributions for each gradient. `optimizer`: "sgd", "adam",
// "clipped_momentum" or "clipped_lamb".
std::vector<RecordedLog> RecordSync(const std::string& optimizer,
                                    const Tensors& tensors, int32_t shards,
                                    int64_t steps, uint64_t seed = 1);
// One shard in BOUNDED or ASYNC with Adam, whose workers push in some order;
// one of them dies and comes back.
RecordedLog RecordOrdered(v1::Consistency mode, const Tensors& tensors,
                          int64_t clocks);

// All of the state, also what waits for totals.
std::string Fingerprint(const ShardState& state);
// Of the initial state after each number of ops.
std::vector<std::string> Fingerprints(const RecordedLog& log);

// One file of `log` in `dir`, committed after every `group` ops. The path.
std::string WriteJournal(FileEnv* env, absl::string_view dir,
                         const RecordedLog& log, int64_t group);

// The whole journal replayed onto the initial state.
struct Replayed {
  absl::StatusOr<JournalContents> contents;
  std::string fingerprint;
};
Replayed ReplayJournal(FileEnv* env, absl::string_view dir,
                       const RecordedLog& log);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_TEST_UTIL_H_
