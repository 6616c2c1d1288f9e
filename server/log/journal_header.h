// The header of a journal file: whose log it holds, and from where on.
//
// Thread safety: values and functions without state.

#ifndef SELARI_SERVER_LOG_JOURNAL_HEADER_H_
#define SELARI_SERVER_LOG_JOURNAL_HEADER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

// Whose log.
struct JournalId {
  std::string job_id;
  int32_t shard = 0;
};

struct JournalHeader {
  JournalId id;
  // Ops of the log before this file; the first record has this sequence.
  int64_t first_sequence = 0;
  // What the writer was told: the version of the state that the file goes on
  // from.
  int64_t base_version = 0;
  uint64_t salt = 0;
  // Of the header, and where its records' checksums start. Set by Parse.
  uint32_t checksum = 0;
};

// INVALID_ARGUMENT when a header has no room for it.
[[nodiscard]] absl::Status CheckJournalId(const JournalId& id);

// The kFileHeaderBytes of the header. REQUIRES: CheckJournalId(header.id).
std::string EncodeJournalHeader(const JournalHeader& header);

// DATA_LOSS, saying why, unless `bytes` start with a header;
// FAILED_PRECONDITION for a format of a later release.
[[nodiscard]] absl::StatusOr<JournalHeader> ParseJournalHeader(
    absl::string_view bytes);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_HEADER_H_
