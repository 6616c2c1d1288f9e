// The bytes of a journal file, shared by all who write or read one.
// docs/FORMAT.md has the same tables in words.
//
//   FileHeaderLayout, then records: RecordLayout, payload, zeros up to a
//   multiple of 8.
//
// Every record starts at a multiple of 8, so a payload's floats and doubles
// can be read where they lie.

#ifndef SELARI_SERVER_LOG_JOURNAL_FORMAT_H_
#define SELARI_SERVER_LOG_JOURNAL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace selari {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the structs below are written as they stand");

inline constexpr char kJournalMagic[] = "SELARIJL";  // 8 bytes, no zero
inline constexpr uint32_t kJournalFormatVersion = 1;
inline constexpr int64_t kJournalAlignment = 8;

struct FileHeaderLayout {
  char magic[8];
  uint32_t format_version;
  int32_t shard;
  int64_t first_sequence;  // ops of the log before this file
  int64_t base_version;
  uint64_t salt;  // random
  uint32_t job_id_bytes;
  uint32_t checksum;  // of all bytes of the header but these four
  char job_id[80];    // then zeros
};

// On disk: never renumber.
enum class RecordType : uint32_t { kReduced = 1, kTotals = 2, kPush = 3 };

inline constexpr uint32_t kRecordMagic = 0x63526c53;  // "SlRc"

struct RecordLayout {
  uint32_t magic;
  // Of the bytes from `type` to the end of the header, continued from the
  // checksum of the file's header: no record fits into another file.
  uint32_t checksum;
  uint32_t type;
  uint32_t payload_checksum;  // with the zeros behind it
  int64_t sequence;           // ops of the log before this one
  uint32_t count;             // floats, or doubles of totals
  // So many ops before this one were not known to be on the disk when this
  // record was made: damage before those is none that a crash explains.
  uint32_t uncommitted;
  int32_t chunk;          // totals: the round
  int32_t worker_id;      // kPush, else 0
  int64_t step;           // kPush: clock
  uint64_t incarnation;   // kPush, else 0
  int64_t push_sequence;  // kPush, else 0
};

static_assert(sizeof(FileHeaderLayout) == 128 &&
              std::is_trivially_copyable_v<FileHeaderLayout>);
static_assert(sizeof(RecordLayout) == 64 &&
              std::is_trivially_copyable_v<RecordLayout>);
static_assert(offsetof(FileHeaderLayout, checksum) == 44 &&
              offsetof(RecordLayout, type) == 8);

inline constexpr auto kFileHeaderBytes =
    static_cast<int64_t>(sizeof(FileHeaderLayout));
inline constexpr auto kRecordHeaderBytes =
    static_cast<int64_t>(sizeof(RecordLayout));

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_FORMAT_H_
