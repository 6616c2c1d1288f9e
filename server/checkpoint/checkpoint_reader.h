// CheckpointReader: the tensors of a checkpoint, wherever they were cut. Every
// user of a checkpoint (restore, export, digest, verify) reads through it, so
// every byte is checked against the manifest's SHA-256 before it is used.
//
//   SELARI_ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(env, dir));
//   SELARI_RETURN_IF_ERROR(
//       reader->Read({.tensor = 0, .array = 0, .offset = 0}, out));
//
// Memory: the headers of all files and the caller's buffers. Not thread-safe.

#ifndef SELARI_SERVER_CHECKPOINT_CHECKPOINT_READER_H_
#define SELARI_SERVER_CHECKPOINT_CHECKPOINT_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/safetensors_reader.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/shard_file.h"

namespace selari {

// A chunk and the file that holds it.
struct StoredChunk {
  int32_t shard = 0;
  ChunkRecord record;
};

class CheckpointReader {
 public:
  // Array 0 of a tensor is its weights, array 1 + k its optimizer slot k.
  struct Place {
    int32_t tensor = 0;
    int32_t array = 0;
    int64_t offset = 0;  // element
  };

  // Reads the manifest and the headers of all files. NOT_FOUND when there is
  // no checkpoint in `dir`; otherwise errors as LoadManifest, and DATA_LOSS
  // with the path when a file is missing, has another size or is of another
  // shard, job or step, or when the files do not hold every element of the
  // job's tensors exactly once. `env` must outlive the reader.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      FileEnv& env, absl::string_view dir);

  // The same for a checkpoint in the making, whose manifest is not written yet.
  // REQUIRES: CheckManifest(manifest) is OK.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> OpenUnpublished(
      FileEnv& env, absl::string_view dir, v1::CheckpointManifest manifest);

  const std::string& dir() const { return dir_; }
  const v1::CheckpointManifest& manifest() const { return manifest_; }
  // By shard, one for each.
  const std::vector<ShardFileIndex>& files() const { return files_; }
  // The same for every chunk of the checkpoint.
  int32_t slot_count() const { return slot_count_.value_or(0); }
  // Elements of a tensor. REQUIRES: 0 <= tensor < manifest's tensors.
  int64_t ElementCount(int32_t tensor) const;
  // The tensor's chunks in order of offset; they cover it exactly.
  absl::Span<const StoredChunk> ChunksOfTensor(int32_t tensor) const;

  // Fills `out` from `place` on. Checks each file's SHA-256 before its first
  // use; DATA_LOSS names the damaged one. REQUIRES: inside the array.
  [[nodiscard]] absl::Status Read(const Place& place, absl::Span<float> out);

  // Checks the SHA-256 of one file, if that was not done before.
  [[nodiscard]] absl::Status VerifyFile(int32_t shard);

 private:
  CheckpointReader(FileEnv& env, std::string dir,
                   v1::CheckpointManifest manifest);

  std::string PathOf(int32_t shard) const;
  absl::Status OpenFiles();
  absl::Status AddFile(int32_t shard);
  absl::Status CheckCover();
  absl::StatusOr<const SafetensorsReader*> File(int32_t shard);

  FileEnv& env_;
  const std::string dir_;
  const v1::CheckpointManifest manifest_;
  std::optional<int32_t> slot_count_;  // Of the files so far.
  std::vector<ShardFileIndex> files_;
  std::vector<std::vector<StoredChunk>> tensors_;
  std::vector<bool> verified_;
  // The file used last: tensors are read in order, and a process may have
  // fewer file descriptors than a job has shards.
  int32_t open_shard_ = -1;
  std::unique_ptr<SafetensorsReader> open_file_;
};

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_CHECKPOINT_READER_H_
