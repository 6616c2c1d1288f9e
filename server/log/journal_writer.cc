#include "server/log/journal_writer.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "common/incarnation.h"
#include "common/status.h"
#include "server/log/journal_claim.h"
#include "server/log/journal_files.h"
#include "server/log/journal_format.h"
#include "server/log/journal_header.h"
#include "server/log/journal_record.h"
#include "server/shard/reduction_program.h"
#include "server/shard/shard_op.h"

namespace selari {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

std::shared_ptr<FloatBuffer> AllocateBytes(int64_t bytes) {
  return FloatBuffer::Allocate((bytes + kFloatBytes - 1) / kFloatBytes);
}

absl::Status SyncFile(FileEnv& env, absl::string_view path) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          env.OpenForAppend(path));
  SELARI_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

JournalWriter::JournalWriter(FileEnv* env, Options options, int64_t last_number)
    : env_(env),
      options_(std::move(options)),
      file_number_(last_number),
      next_sequence_(options_.next_sequence),
      durable_sequence_(options_.next_sequence),
      buffer_(AllocateBytes(options_.buffer_bytes)) {
  SELARI_CHECK(next_sequence_ >= 0);
}

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Open(
    FileEnv* env, Options options) {
  SELARI_RETURN_IF_ERROR(CheckJournalId(options.id));
  SELARI_RETURN_IF_ERROR(CreateDirsDurably(*env, options.dir));
  SELARI_ASSIGN_OR_RETURN(
      const std::vector<JournalFile> files,
      ListJournalFiles(*env, options.dir, options.id.shard));
  for (const JournalFile& file : files) {
    SELARI_RETURN_IF_ERROR(SyncFile(*env, file.path));
  }
  SELARI_RETURN_IF_ERROR(env->SyncDir(options.dir));
  // A process that died may have made the folder without this.
  SELARI_RETURN_IF_ERROR(env->SyncDir(DirName(options.dir)));
  const int64_t last_number = files.empty() ? 0 : files.back().number;
  return absl::WrapUnique(
      new JournalWriter(env, std::move(options), last_number));
}

absl::Status JournalWriter::StartFile(int64_t base_version) {
  SELARI_RETURN_IF_ERROR(Commit());
  return Keep(CreateFile(base_version));
}

absl::Status JournalWriter::CreateFile(int64_t base_version) {
  if (file_ != nullptr) {
    SELARI_RETURN_IF_ERROR(file_->Close());
  }
  JournalHeader header;
  header.id = options_.id;
  header.first_sequence = next_sequence_;
  header.base_version = base_version;
  header.salt = NewIncarnation();
  const std::string bytes = EncodeJournalHeader(header);
  SELARI_ASSIGN_OR_RETURN(header, ParseJournalHeader(bytes));
  SELARI_RETURN_IF_ERROR(CheckOwn());
  SELARI_RETURN_IF_ERROR(OpenNextFile());
  SELARI_RETURN_IF_ERROR(file_->Append(bytes));
  // Before the first record: a file without a whole header has none.
  SELARI_RETURN_IF_ERROR(file_->Sync());
  SELARI_RETURN_IF_ERROR(env_->SyncDir(options_.dir));
  file_checksum_ = header.checksum;
  written_bytes_ += kFileHeaderBytes;
  return absl::OkStatus();
}

// One that had the journal before may make a last file at this moment: it holds
// nothing that anybody was told of.
absl::Status JournalWriter::OpenNextFile() {
  constexpr int kTries = 3;
  absl::StatusOr<std::unique_ptr<WritableFile>> file;
  for (int i = 0; i < kTries; ++i) {
    ++file_number_;
    file = env_->OpenNew(
        JournalPath(options_.dir, options_.id.shard, file_number_));
    if (!absl::IsAlreadyExists(file.status())) {
      break;
    }
  }
  SELARI_RETURN_IF_ERROR(file.status());
  file_ = *std::move(file);
  return absl::OkStatus();
}

absl::Status JournalWriter::CheckOwn() {
  return options_.claim == 0 ? absl::OkStatus()
                             : CheckClaim(*env_, options_.dir,
                                          options_.id.shard, options_.claim);
}

absl::Status JournalWriter::Append(const ShardOp& op) {
  SELARI_RETURN_IF_ERROR(status_);
  SELARI_CHECK(file_ != nullptr);
  const int64_t bytes = RecordBytes(op);
  if (buffered_bytes_ + bytes > buffer_->size_bytes()) {
    SELARI_RETURN_IF_ERROR(Flush());
    // The disk works while the shard goes on; Commit waits for the rest.
    file_->StartWriting();
    if (bytes > buffer_->size_bytes()) {
      buffer_ = AllocateBytes(bytes);
    }
  }
  const int64_t uncommitted = next_sequence_ - durable_sequence_;
  SELARI_CHECK(uncommitted <= std::numeric_limits<uint32_t>::max());
  EncodeRecord(
      {file_checksum_, next_sequence_, static_cast<uint32_t>(uncommitted)}, op,
      Scratch(RecordScratchBlocks(op)),
      reinterpret_cast<char*>(buffer_->data()) + buffered_bytes_);
  buffered_bytes_ += bytes;
  ++next_sequence_;
  return absl::OkStatus();
}

absl::Status JournalWriter::Commit() {
  SELARI_RETURN_IF_ERROR(status_);
  if (durable_sequence_ == next_sequence_) {
    return absl::OkStatus();
  }
  SELARI_RETURN_IF_ERROR(Flush());
  SELARI_RETURN_IF_ERROR(Keep(file_->Sync()));
  file_->ForgetWritten();
  SELARI_RETURN_IF_ERROR(Keep(CheckOwn()));
  durable_sequence_ = next_sequence_;
  return absl::OkStatus();
}

absl::Status JournalWriter::Trim(int64_t sequence, int64_t version) {
  SELARI_RETURN_IF_ERROR(StartFile(version));
  return RemoveJournalFilesBefore(*env_, options_.dir, options_.id, sequence);
}

absl::Status JournalWriter::Flush() {
  if (buffered_bytes_ == 0) {
    return absl::OkStatus();
  }
  SELARI_RETURN_IF_ERROR(
      Keep(file_->Append({reinterpret_cast<const char*>(buffer_->data()),
                          static_cast<size_t>(buffered_bytes_)})));
  written_bytes_ += buffered_bytes_;
  buffered_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status JournalWriter::Keep(absl::Status status) {
  status_ = std::move(status);
  return status_;
}

float* JournalWriter::Scratch(int32_t blocks) {
  if (blocks == 0) {
    return nullptr;
  }
  const int64_t floats = blocks * ReductionProgram::kBlockFloats;
  if (scratch_ == nullptr || scratch_->size() < floats) {
    scratch_ = FloatBuffer::Allocate(floats);
  }
  return scratch_->data();
}

}  // namespace selari
