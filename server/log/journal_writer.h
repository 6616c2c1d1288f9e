// JournalWriter: appends the ops of one shard's log to files. Many appends,
// one Commit: that is when they are on the disk, and when whoever waits for
// them may be told so.
//
//   auto writer = JournalWriter::Open(env, {dir, {job_id, shard}, sequence});
//   RETURN_IF_ERROR((*writer)->StartFile(version));
//   Shard shard(state, [&](const ShardOp& op) { (void)(*writer)->Append(op);
//   });
//   ... a batch of requests ...
//   RETURN_IF_ERROR((*writer)->Commit());   // then the replies
//
// After the first failed call the state of the file is unknown: a second sync
// may succeed though the kernel has dropped what the first one could not
// write. So every later call returns that first error; end the shard.
//
// Not thread-safe: one thread at a time, the one that runs the shard. Blocks
// for as long as the disk takes. One writer for a shard's files, which nobody
// else writes or removes but for journal_files.h.

#ifndef SELARI_SERVER_LOG_JOURNAL_WRITER_H_
#define SELARI_SERVER_LOG_JOURNAL_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "server/log/journal_header.h"
#include "server/shard/shard_log.h"
#include "server/shard/shard_op.h"

namespace selari {

class JournalWriter final : public ShardLog {
 public:
  struct Options {
    std::string dir;
    JournalId id;
    // Ops in the log so far: JournalContents::next_sequence, or 0.
    int64_t next_sequence = 0;
    // Appended bytes that wait in memory before they are written; more only
    // for a record that is larger.
    int64_t buffer_bytes = int64_t{1} << 20;
    // As ClaimJournal gave it: Commit fails once another has claimed. 0: nobody
    // else can.
    uint64_t claim = 0;
  };

  // Makes the folder if it is missing, and what was read from older files
  // durable: a process that died without Commit left it to the kernel. Of the
  // folders above, the next one is synced.
  // INVALID_ARGUMENT as CheckJournalId; other errors as FileEnv.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<JournalWriter>> Open(
      FileEnv* env, Options options);

  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Commits, then begins the next file, with next_sequence() as its first op.
  // `base_version`: of the state as it is now, for whoever reads the header.
  // Durable when OK.
  [[nodiscard]] absl::Status StartFile(int64_t base_version);

  // Takes the op, which may change or go once this returns. An error may be
  // ignored: Commit returns it too. REQUIRES: StartFile was called.
  absl::Status Append(const ShardOp& op) override;

  // Makes all appended ops durable with one sync; none when there is nothing.
  // ABORTED with WRONG_SHARD when another has claimed the journal by now and
  // may not have read them.
  [[nodiscard]] absl::Status Commit() override;

  // Begins the next file and removes those that hold no op from `sequence` on.
  // What the last file has before it stays until it is trimmed again.
  [[nodiscard]] absl::Status Trim(int64_t sequence, int64_t version) override;

  // Ops in the log: all, and those known to be on the disk.
  int64_t next_sequence() const override { return next_sequence_; }
  int64_t durable_sequence() const { return durable_sequence_; }
  // Bytes written to files so far, headers too.
  int64_t written_bytes() const { return written_bytes_; }
  // The first error.
  const absl::Status& status() const { return status_; }

 private:
  JournalWriter(FileEnv* env, Options options, int64_t last_number);

  absl::Status CheckOwn();
  absl::Status OpenNextFile();
  absl::Status CreateFile(int64_t base_version);
  absl::Status Flush();
  absl::Status Keep(absl::Status status);
  float* Scratch(int32_t blocks);

  // Constant after construction.
  FileEnv* const env_;
  const Options options_;

  int64_t file_number_;  // of the last file
  int64_t next_sequence_;
  int64_t durable_sequence_;
  int64_t written_bytes_ = 0;
  absl::Status status_;
  std::unique_ptr<WritableFile> file_;  // null before StartFile
  uint32_t file_checksum_ = 0;          // of its header
  std::shared_ptr<FloatBuffer> buffer_;
  int64_t buffered_bytes_ = 0;
  std::shared_ptr<FloatBuffer> scratch_;  // null until it is needed
};

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_WRITER_H_
