// The files of the journals in a folder: their names, their headers, and which
// are not needed any more.
//
// The journal of shard 3 is shard-00003-000000001.journal, -000000002.journal
// and so on; a file is never written again once a later one is there.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_LOG_JOURNAL_FILES_H_
#define SELARI_SERVER_LOG_JOURNAL_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "server/log/journal_header.h"

namespace selari {

struct JournalFile {
  int64_t number = 0;  // from 1
  std::string path;
  // Missing when the file was being made at a crash: it has no whole header
  // and nothing behind it.
  std::optional<JournalHeader> header;
};

// REQUIRES: number > 0.
std::string JournalPath(absl::string_view dir, int32_t shard, int64_t number);

// The shard's files by number, without looking into them; empty when there is
// no such folder. Other names are passed over.
[[nodiscard]] absl::StatusOr<std::vector<JournalFile>> ListJournalFiles(
    FileEnv& env, absl::string_view dir, int32_t shard);

// The same with headers. DATA_LOSS, naming the file, when one is damaged or
// belongs to another job or shard; FAILED_PRECONDITION when a later release
// wrote it.
[[nodiscard]] absl::StatusOr<std::vector<JournalFile>> ReadJournalHeaders(
    FileEnv& env, absl::string_view dir, const JournalId& id);

// Removes the files that hold no op from `sequence` on, oldest first, so that
// a crash in between leaves no gap. The last file stays. Durable when OK.
// REQUIRES: a checkpoint that has all ops before `sequence` is published.
[[nodiscard]] absl::Status RemoveJournalFilesBefore(FileEnv& env,
                                                    absl::string_view dir,
                                                    const JournalId& id,
                                                    int64_t sequence);

// Removes all of the shard's files: its log starts anew, as after a restore of
// an older checkpoint. Durable when OK.
[[nodiscard]] absl::Status RemoveAllJournalFiles(FileEnv& env,
                                                 absl::string_view dir,
                                                 int32_t shard);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_FILES_H_
