#include "server/log/journal_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/crc32c.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "common/status.h"
#include "server/log/journal_files.h"
#include "server/log/journal_format.h"
#include "server/log/journal_header.h"
#include "server/log/journal_record.h"
#include "server/shard/shard_op.h"

namespace selari {
namespace {

// A file's bytes, in blocks that are read once and kept by the ops that refer
// to them. Not mapped: a bad sector must be an error, not the end of the
// process.
class BlockReader {
 public:
  explicit BlockReader(std::unique_ptr<ReadableFile> file)
      : file_(std::move(file)) {}

  int64_t size() const { return file_->size(); }
  // Keeps the bytes of the last At.
  const std::shared_ptr<FloatBuffer>& block() const { return block_; }

  // Bytes [offset, offset + size), valid until the next call unless block() is
  // kept. REQUIRES: they are in the file; offset % kJournalAlignment == 0.
  absl::StatusOr<absl::string_view> At(int64_t offset, int64_t size) {
    if (offset < begin_ || offset + size > end_) {
      SELARI_RETURN_IF_ERROR(Read(offset, size));
    }
    return absl::string_view(
        reinterpret_cast<const char*>(block_->data()) + (offset - begin_),
        static_cast<size_t>(size));
  }

 private:
  // So that records of a chunk's 256 KiB are rarely read twice.
  static constexpr int64_t kBlockBytes = int64_t{4} << 20;

  absl::Status Read(int64_t offset, int64_t size) {
    const int64_t bytes =
        std::max(size, std::min(kBlockBytes, file_->size() - offset));
    if (block_ == nullptr || block_.use_count() > 1 ||
        block_->size_bytes() < bytes) {
      block_ = FloatBuffer::Allocate((bytes + 3) / 4);
    }
    begin_ = end_ = 0;
    SELARI_RETURN_IF_ERROR(file_->ReadAt(
        offset,
        {reinterpret_cast<char*>(block_->data()), static_cast<size_t>(bytes)}));
    begin_ = offset;
    end_ = offset + bytes;
    return absl::OkStatus();
  }

  const std::unique_ptr<ReadableFile> file_;
  std::shared_ptr<FloatBuffer> block_;
  int64_t begin_ = 0;  // of block_ within the file
  int64_t end_ = 0;
};

// One pass over the records of one file.
class FilePass {
 public:
  // `end_sequence`: where another file goes on. What comes here behind it was
  // written by one who had lost the journal, and told to nobody.
  FilePass(const JournalFile& file, std::unique_ptr<ReadableFile> bytes,
           std::optional<int64_t> end_sequence)
      : path_(file.path),
        header_(*file.header),
        bytes_(std::move(bytes)),
        end_sequence_(end_sequence),
        sequence_(header_.first_sequence) {}

  absl::Status Run(std::optional<int64_t> from_sequence, TakeOp take) {
    while (offset_ < bytes_.size() && sequence_ != end_sequence_) {
      RecordLayout record;
      SELARI_ASSIGN_OR_RETURN(std::string torn, Look(&record));
      if (!torn.empty()) {
        tail_ = {path_, offset_, bytes_.size() - offset_, std::move(torn)};
        return CheckTail();
      }
      SELARI_RETURN_IF_ERROR(Here(CheckPlace(record)));
      if (!from_sequence.has_value() || sequence_ >= *from_sequence) {
        SELARI_RETURN_IF_ERROR(Here(Take(record, take)));
      }
      ++sequence_;
      offset_ += RecordBytes(record);
    }
    return absl::OkStatus();
  }

  // After Run.
  int64_t next_sequence() const { return sequence_; }
  std::optional<TornTail>& torn_tail() { return tail_; }

 private:
  // Fills `record`, whose payload is whole; or says why there is none.
  absl::StatusOr<std::string> Look(RecordLayout* record) {
    const int64_t left = bytes_.size() - offset_;
    if (left < kRecordHeaderBytes) {
      return absl::StrCat("the record's header has ", kRecordHeaderBytes,
                          " bytes, the file ", left, " more");
    }
    SELARI_ASSIGN_OR_RETURN(const absl::string_view header,
                            bytes_.At(offset_, kRecordHeaderBytes));
    const std::optional<RecordLayout> parsed =
        ParseRecordHeader(header_.checksum, header);
    if (!parsed.has_value()) {
      return std::string("the checksum of the record's header is wrong");
    }
    *record = *parsed;
    if (RecordBytes(*record) > left) {
      return absl::StrCat("the record has ", RecordBytes(*record),
                          " bytes, the file ", left, " more");
    }
    SELARI_ASSIGN_OR_RETURN(
        const absl::string_view payload,
        bytes_.At(offset_ + kRecordHeaderBytes, PayloadBytes(*record)));
    if (Crc32c(payload) != record->payload_checksum) {
      return std::string("the checksum of the record's contents is wrong");
    }
    return std::string();
  }

  // A record whose checksums are right was written as it is, by somebody.
  absl::Status CheckPlace(const RecordLayout& record) const {
    SELARI_RETURN_IF_ERROR(CheckRecordHeader(record));
    if (record.sequence != sequence_) {
      return absl::DataLossError(
          absl::StrCat("it has op ", record.sequence, " there, must be op ",
                       sequence_, ": records are missing or out of place"));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const RecordLayout& record, TakeOp take) {
    SELARI_ASSIGN_OR_RETURN(
        const absl::string_view payload,
        bytes_.At(offset_ + kRecordHeaderBytes, PayloadBytes(record)));
    return take(sequence_, DecodeRecord(record, payload, bytes_.block()));
  }

  // DATA_LOSS when a record behind the bad one knew that one on the disk.
  absl::Status CheckTail() {
    int64_t at = offset_ + kJournalAlignment;
    while (at + kRecordHeaderBytes <= bytes_.size()) {
      constexpr int64_t kScanBytes = int64_t{1} << 20;
      const int64_t size = std::min(kScanBytes, bytes_.size() - at);
      SELARI_ASSIGN_OR_RETURN(const absl::string_view bytes,
                              bytes_.At(at, size));
      int64_t position = 0;
      for (; position + kRecordHeaderBytes <= size;
           position += kJournalAlignment) {
        const std::optional<RecordLayout> record = ParseRecordHeader(
            header_.checksum,
            bytes.substr(static_cast<size_t>(position), kRecordHeaderBytes));
        if (record.has_value() &&
            record->sequence - record->uncommitted > sequence_) {
          return Here(absl::DataLossError(absl::StrCat(
              tail_->reason, ", though op ", record->sequence, " at byte ",
              at + position, " was written after it was committed")));
        }
      }
      at += position;
    }
    return absl::OkStatus();
  }

  absl::Status Here(const absl::Status& status) const {
    return Annotate(status, absl::StrCat("journal \"", path_, "\" at byte ",
                                         offset_, ", op ", sequence_));
  }

  const std::string path_;
  const JournalHeader header_;
  BlockReader bytes_;
  const std::optional<int64_t> end_sequence_;
  int64_t offset_ = kFileHeaderBytes;
  int64_t sequence_;
  std::optional<TornTail> tail_;
};

// The first file to read: the last one that begins at `from_sequence` or
// before it.
absl::StatusOr<size_t> FirstFile(const std::vector<JournalFile>& files,
                                 absl::string_view dir, const JournalId& id,
                                 std::optional<int64_t> from_sequence) {
  std::optional<size_t> first;
  const JournalFile* oldest = nullptr;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].header.has_value()) {
      continue;
    }
    if (oldest == nullptr) {
      oldest = &files[i];
    }
    if (from_sequence.has_value()
            ? files[i].header->first_sequence <= *from_sequence
            : oldest == &files[i]) {
      first = i;
    }
  }
  if (first.has_value()) {
    return *first;
  }
  if (from_sequence.value_or(0) == 0 && oldest == nullptr) {
    return 0;  // an empty log
  }
  return absl::DataLossError(absl::StrCat(
      "the journal of shard ", id.shard, " in \"", dir,
      "\" must have the ops from ", *from_sequence, " on, ",
      oldest == nullptr
          ? "but has no files"
          : absl::StrCat("but its oldest file, \"", oldest->path,
                         "\", begins with op ", oldest->header->first_sequence),
      "; files are missing"));
}

// The tail of a file ends the log, unless the next file goes on right there.
absl::Status CheckNext(const std::optional<TornTail>& tail, int64_t sequence,
                       const JournalFile& next) {
  if (next.header->first_sequence == sequence) {
    return absl::OkStatus();
  }
  if (tail.has_value()) {
    return absl::DataLossError(absl::StrCat(
        "journal \"", tail->path, "\" at byte ", tail->offset, ", op ",
        sequence, ": ", tail->reason, ", though \"", next.path,
        "\" goes on with op ", next.header->first_sequence));
  }
  return absl::DataLossError(
      absl::StrCat("journal \"", next.path, "\" begins with op ",
                   next.header->first_sequence, ", must begin with op ",
                   sequence, ": files are missing or out of place"));
}

// First op of the next file that has any header; nothing for the last one.
std::optional<int64_t> BeginOfNext(const std::vector<JournalFile>& files,
                                   size_t i) {
  for (size_t next = i + 1; next < files.size(); ++next) {
    if (files[next].header.has_value()) {
      return files[next].header->first_sequence;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<JournalContents> ReadJournal(
    FileEnv& env, absl::string_view dir, const JournalId& id,
    std::optional<int64_t> from_sequence, TakeOp take) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<JournalFile> files,
                          ReadJournalHeaders(env, dir, id));
  SELARI_ASSIGN_OR_RETURN(const size_t first,
                          FirstFile(files, dir, id, from_sequence));
  JournalContents contents;
  contents.file_count = static_cast<int64_t>(files.size());
  std::optional<int64_t> next;
  for (size_t i = first; i < files.size(); ++i) {
    if (!files[i].header.has_value()) {
      contents.torn_tail = {files[i].path, 0, 0, "it has no whole header"};
      continue;
    }
    if (next.has_value()) {
      SELARI_RETURN_IF_ERROR(CheckNext(contents.torn_tail, *next, files[i]));
    } else {
      contents.first_sequence =
          from_sequence.value_or(files[i].header->first_sequence);
    }
    SELARI_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> bytes,
                            env.OpenForRead(files[i].path));
    FilePass pass(files[i], std::move(bytes), BeginOfNext(files, i));
    SELARI_RETURN_IF_ERROR(pass.Run(from_sequence, take));
    next = pass.next_sequence();
    contents.torn_tail = std::move(pass.torn_tail());
  }
  contents.next_sequence = next.value_or(0);
  if (contents.next_sequence < from_sequence.value_or(0)) {
    return absl::DataLossError(
        absl::StrCat("the journal of shard ", id.shard, " in \"", dir,
                     "\" ends with op ", contents.next_sequence - 1, ", op ",
                     *from_sequence - 1, " had been committed"));
  }
  return contents;
}

}  // namespace selari
