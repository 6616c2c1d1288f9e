// ReadJournal: the log of one shard, op by op, from its files.
//
// What a crash leaves behind is told from damage. Each record says how much of
// the log was known to be on the disk when it was made. So where a record is
// bad, and no later one was made after it had been committed, nobody has been
// told of it or of what follows: a torn tail, which is left out. Everything
// else that does not fit (a bad record before a committed one, a record
// missing, repeated or out of place, a file of another job or shard, a gap
// between files) is DATA_LOSS, naming file, byte and reason.
//
// A torn tail stays in its file. The next file begins where it begins, and so
// confirms that it does not count.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_LOG_JOURNAL_READER_H_
#define SELARI_SERVER_LOG_JOURNAL_READER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "server/log/journal_header.h"
#include "server/shard/shard_op.h"

namespace selari {

// The end of the last file, which is not part of the log.
struct TornTail {
  std::string path;
  int64_t offset = 0;  // of its first byte
  int64_t bytes = 0;   // > 0, or 0 for a file that was left empty
  std::string reason;
};

struct JournalContents {
  int64_t file_count = 0;
  // The ops that were handed out are [first_sequence, next_sequence).
  int64_t first_sequence = 0;
  int64_t next_sequence = 0;
  std::optional<TornTail> torn_tail;
};

// Gets each op with its number in the log. Its gradient lies in memory that it
// keeps. An error ends the reading.
using TakeOp =
    absl::FunctionRef<absl::Status(int64_t sequence, const ShardOp& op)>;

// Reads the journal of `id` in `dir` and hands out the ops from
// `from_sequence` on, or all that the files have. Without files the log is
// empty. DATA_LOSS as above, also when the ops from `from_sequence` on are not
// all there; FAILED_PRECONDITION for files of a later release; errors of
// `take` and of `env`, with the place. What was handed out before an error is
// the log up to there.
[[nodiscard]] absl::StatusOr<JournalContents> ReadJournal(
    FileEnv& env, absl::string_view dir, const JournalId& id,
    std::optional<int64_t> from_sequence, TakeOp take);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_READER_H_
