// One record of a journal: an op of the shard's log as bytes, and back.
//
// The gradient is written once, summed: on the way to `out` it is read exactly
// once, because memory that a worker shares with us may change under our eyes,
// and a checksum of other bytes than those written would be damage.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_LOG_JOURNAL_RECORD_H_
#define SELARI_SERVER_LOG_JOURNAL_RECORD_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/log/journal_format.h"
#include "server/shard/shard_op.h"

namespace selari {

// Where a record stands in the log.
struct RecordPlace {
  uint32_t file_checksum = 0;
  int64_t sequence = 0;
  uint32_t uncommitted = 0;  // as in RecordLayout
};

// Bytes of the op's record, a multiple of kJournalAlignment.
int64_t RecordBytes(const ShardOp& op);
// ReductionProgram::kBlockFloats that EncodeRecord needs as scratch.
int32_t RecordScratchBlocks(const ShardOp& op);
// Writes the record to `out` (RecordBytes), in blocks that stay in the
// first-level cache between copy and checksum.
void EncodeRecord(const RecordPlace& place, const ShardOp& op, float* scratch,
                  char* out);

// The record's header, if `bytes` (kRecordHeaderBytes) are one of this file.
std::optional<RecordLayout> ParseRecordHeader(uint32_t file_checksum,
                                              absl::string_view bytes);
// DATA_LOSS when the header, though its checksum is right, names something
// that no writer writes.
[[nodiscard]] absl::Status CheckRecordHeader(const RecordLayout& header);

// Bytes behind the header, and of the whole record. Never overflow.
int64_t PayloadBytes(const RecordLayout& header);
inline int64_t RecordBytes(const RecordLayout& header) {
  return kRecordHeaderBytes + PayloadBytes(header);
}

// The op, whose gradient is `payload` where it lies, kept by `owner`.
// REQUIRES: CheckRecordHeader, PayloadBytes(header) bytes of the right
// checksum, aligned for floats.
ShardOp DecodeRecord(const RecordLayout& header, absl::string_view payload,
                     std::shared_ptr<const void> owner);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_RECORD_H_
