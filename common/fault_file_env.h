// FaultFileEnv: a file system in memory for tests, with faults on demand: the
// nth call fails, the disk is full, a folder is read-only, the machine crashes
// and loses what was not synced. What survives a crash is as little as POSIX
// promises: bytes covered by Sync, names covered by SyncDir.
//
//   FaultFileEnv env;
//   for (int64_t n = 0;; ++n) {        // Every call fails once.
//     env.FailCall({.call = n, .error = EIO});
//     ... act ...
//     const bool hit = env.fault_hit();
//     env.ClearFaults();
//     ... expect an error if hit, look at what is left ...
//     if (!hit) break;                 // Fewer than n + 1 calls were made.
//   }
//
// Calls of the env and of its files count, but not size() and destructors. "a",
// "/a" and "./a" are one path. Thread-safe. Files may outlive a Crash(), not
// the env.

#ifndef SELARI_COMMON_FAULT_FILE_ENV_H_
#define SELARI_COMMON_FAULT_FILE_ENV_H_

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/mutex.h"

namespace selari {

class FaultFileEnv final : public FileEnv {
 public:
  struct Failure {
    // Which call from now on fails; 0 is the next.
    int64_t call = 0;
    // Its errno. An Append that fails has written half of its bytes.
    int error = EIO;
    // All later calls fail as well, as after a lost disk or a kill.
    bool permanent = false;
  };

  struct CrashOptions {
    // 0: nothing unsynced survives. Otherwise each folder's unsynced names
    // survive or not, and so does any prefix of each file's unsynced bytes,
    // possibly with a hole of zeros, as this seed decides.
    uint64_t seed = 0;
  };

  FaultFileEnv();
  ~FaultFileEnv() override;

  // Faults; each replaces an earlier one of its kind.
  void FailCall(Failure failure);
  // Whether the call of FailCall has come.
  bool fault_hit() const;
  // Bytes that all files together may have. -1: no limit.
  void SetCapacityBytes(int64_t bytes);
  // Changes of this path and below fail with EACCES. Empty: allowed again.
  void DenyWrites(absl::string_view path);

  // Lets go of every fault above.
  void ClearFaults();

  // ClearFaults, loses what is not synced, and lets go of each file that is
  // open: its later calls fail with EIO.
  void Crash(CrashOptions options);

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenNew(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      absl::string_view path) override;
  absl::Status Truncate(absl::string_view path, int64_t size) override;
  absl::StatusOr<bool> Exists(absl::string_view path) override;
  absl::StatusOr<std::vector<DirEntry>> List(absl::string_view dir) override;
  absl::Status CreateDirs(absl::string_view dir) override;
  absl::Status RemoveFile(absl::string_view path) override;
  absl::Status RemoveDir(absl::string_view dir) override;
  absl::Status Rename(absl::string_view from, absl::string_view to) override;
  absl::Status SyncDir(absl::string_view dir) override;

 private:
  class Readable;
  class Writable;
  struct Node;
  using Entries = std::map<std::string, std::shared_ptr<Node>>;

  // Counts the call; an errno when it must fail, else 0.
  int Enter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int EnterWrite(absl::string_view path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The node, or null with an errno.
  std::shared_ptr<Node> Find(absl::string_view path, int* error) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  enum class OldContent { kEmptied, kKept, kRefused };
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenWritable(
      absl::string_view path, OldContent old);
  absl::Status Remove(absl::string_view path, bool is_directory);
  absl::Status AppendTo(Node* node, int64_t life, absl::string_view path,
                        absl::string_view bytes);
  absl::Status SyncFile(Node* node, int64_t life, absl::string_view path);
  int64_t UsedBytes(const Node& node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void LoseUnsynced(Node* node, std::mt19937_64* random);

  mutable Mutex mu_;
  const std::shared_ptr<Node> root_;  // The tree is guarded by mu_.
  Failure failure_ ABSL_GUARDED_BY(mu_);
  int64_t calls_until_failure_ ABSL_GUARDED_BY(mu_) = -1;  // -1: no failure.
  bool fault_hit_ ABSL_GUARDED_BY(mu_) = false;
  int64_t capacity_bytes_ ABSL_GUARDED_BY(mu_) = -1;
  std::string denied_ ABSL_GUARDED_BY(mu_);
  int64_t life_ ABSL_GUARDED_BY(mu_) = 0;  // Crashes so far.
};

}  // namespace selari

#endif  // SELARI_COMMON_FAULT_FILE_ENV_H_
