#include "server/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/job_layout.h"
#include "common/job_reduction.h"
#include "common/printable.h"
#include "common/safetensors_reader.h"
#include "common/sha256.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

// Large enough that a system call costs nothing, small enough to be no memory.
constexpr int64_t kBlockBytes = int64_t{1} << 20;

absl::StatusOr<std::string> FileChecksum(const ReadableFile& file) {
  Sha256 hash;
  std::string block;
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    block.resize(
        static_cast<std::size_t>(std::min(kBlockBytes, file.size() - offset)));
    SELARI_RETURN_IF_ERROR(file.ReadAt(offset, absl::MakeSpan(block)));
    hash.Update(block);
  }
  return hash.FinishHex();
}

}  // namespace

CheckpointReader::CheckpointReader(FileEnv& env, std::string dir,
                                   v1::CheckpointManifest manifest)
    : env_(env), dir_(std::move(dir)), manifest_(std::move(manifest)) {}

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    FileEnv& env, absl::string_view dir) {
  SELARI_ASSIGN_OR_RETURN(v1::CheckpointManifest manifest,
                          LoadManifest(env, dir));
  return OpenUnpublished(env, dir, std::move(manifest));
}

absl::StatusOr<std::unique_ptr<CheckpointReader>>
CheckpointReader::OpenUnpublished(FileEnv& env, absl::string_view dir,
                                  v1::CheckpointManifest manifest) {
  auto reader = absl::WrapUnique(
      new CheckpointReader(env, std::string(dir), std::move(manifest)));
  SELARI_RETURN_IF_ERROR(reader->OpenFiles());
  SELARI_RETURN_IF_ERROR(reader->CheckCover());
  return reader;
}

std::string CheckpointReader::PathOf(int32_t shard) const {
  return JoinPath(dir_, manifest_.shards(shard).file_name());
}

absl::Status CheckpointReader::OpenFiles() {
  tensors_.resize(static_cast<std::size_t>(manifest_.job().tensors_size()));
  verified_.resize(static_cast<std::size_t>(manifest_.shards_size()));
  for (int32_t shard = 0; shard < manifest_.shards_size(); ++shard) {
    absl::Status status = AddFile(shard);
    // Nothing is there, or something that is no file.
    if (absl::IsNotFound(status) || absl::IsInvalidArgument(status)) {
      status = absl::DataLossError(
          absl::StrCat("the checkpoint misses a file: ", status.message()));
    }
    SELARI_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status CheckpointReader::AddFile(int32_t shard) {
  const v1::ShardFile& expected = manifest_.shards(shard);
  const std::string quoted = absl::StrCat("\"", PathOf(shard), "\"");
  SELARI_ASSIGN_OR_RETURN(const SafetensorsReader* const file, File(shard));
  if (file->size_bytes() != expected.size_bytes()) {
    return absl::DataLossError(absl::StrCat(quoted, " has ", file->size_bytes(),
                                            " bytes, the manifest says ",
                                            expected.size_bytes()));
  }
  absl::StatusOr<ShardFileIndex> index = ParseShardFileIndex(file->header());
  SELARI_RETURN_IF_ERROR(Annotate(index.status(), quoted));
  if (index->shard != shard || index->version != expected.version() ||
      index->job_id != manifest_.job().job_id()) {
    return absl::DataLossError(
        absl::StrCat(quoted, " holds shard ", index->shard, " at version ",
                     index->version, " of job ", Excerpt(index->job_id),
                     ", the manifest says shard ", shard, " at version ",
                     expected.version(), " of job ", manifest_.job().job_id()));
  }
  for (const ChunkRecord& record : index->chunks) {
    if (record.tensor >= manifest_.job().tensors_size()) {
      return absl::DataLossError(absl::StrCat(quoted, " holds tensor ",
                                              record.tensor, ", the job has ",
                                              manifest_.job().tensors_size()));
    }
    if (IsSync(manifest_.job().job()) && record.version != manifest_.step()) {
      return absl::DataLossError(absl::StrCat(
          quoted, " holds chunk ", record.chunk, " at version ", record.version,
          ", the checkpoint is of step ", manifest_.step()));
    }
    tensors_[static_cast<std::size_t>(record.tensor)].push_back(
        {shard, record});
  }
  if (!index->chunks.empty()) {
    if (slot_count_.value_or(index->slot_count) != index->slot_count) {
      return absl::DataLossError(absl::StrCat(
          quoted, " holds ", index->slot_count,
          " optimizer slots, files before it hold ", *slot_count_));
    }
    slot_count_ = index->slot_count;
  }
  files_.push_back(*std::move(index));
  return absl::OkStatus();
}

absl::Status CheckpointReader::CheckCover() {
  for (int32_t tensor = 0; tensor < manifest_.job().tensors_size(); ++tensor) {
    std::vector<StoredChunk>& chunks =
        tensors_[static_cast<std::size_t>(tensor)];
    std::sort(chunks.begin(), chunks.end(),
              [](const StoredChunk& a, const StoredChunk& b) {
                return a.record.offset < b.record.offset;
              });
    int64_t covered = 0;
    bool in_order = true;
    for (const StoredChunk& chunk : chunks) {
      in_order = in_order && chunk.record.offset == covered;
      if (in_order) {
        covered += chunk.record.count;
      }
    }
    const int64_t expected = ElementCount(tensor);
    if (!in_order || covered != expected) {
      return absl::DataLossError(absl::StrCat(
          "\"", dir_, "\": tensor \"", manifest_.job().tensors(tensor).name(),
          "\" has ", expected, " elements, the files hold ", covered,
          in_order ? "" : " and then not the next"));
    }
  }
  return absl::OkStatus();
}

int64_t CheckpointReader::ElementCount(int32_t tensor) const {
  // LoadManifest has checked every tensor.
  return TensorElementCount(manifest_.job().tensors(tensor)).value();
}

absl::Span<const StoredChunk> CheckpointReader::ChunksOfTensor(
    int32_t tensor) const {
  return tensors_[static_cast<std::size_t>(tensor)];
}

absl::StatusOr<const SafetensorsReader*> CheckpointReader::File(int32_t shard) {
  if (open_shard_ != shard) {
    open_shard_ = -1;
    SELARI_ASSIGN_OR_RETURN(open_file_,
                            SafetensorsReader::Open(env_, PathOf(shard)));
    open_shard_ = shard;
  }
  return open_file_.get();
}

absl::Status CheckpointReader::VerifyFile(int32_t shard) {
  if (verified_[static_cast<std::size_t>(shard)]) {
    return absl::OkStatus();
  }
  const v1::ShardFile& expected = manifest_.shards(shard);
  const std::string path = PathOf(shard);
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                          env_.OpenForRead(path));
  SELARI_ASSIGN_OR_RETURN(const std::string checksum, FileChecksum(*file));
  if (file->size() != expected.size_bytes() || checksum != expected.sha256()) {
    return absl::DataLossError(
        absl::StrCat("\"", path, "\" is damaged: its SHA-256 is ", checksum,
                     ", the manifest says ", expected.sha256()));
  }
  verified_[static_cast<std::size_t>(shard)] = true;
  return absl::OkStatus();
}

absl::Status CheckpointReader::Read(const Place& place, absl::Span<float> out) {
  SELARI_CHECK(place.array >= 0 && place.array <= slot_count());
  const absl::Span<const StoredChunk> chunks = ChunksOfTensor(place.tensor);
  // One past the last chunk that starts at or before the place.
  auto next = static_cast<std::size_t>(
      std::upper_bound(chunks.begin(), chunks.end(), place.offset,
                       [](int64_t offset, const StoredChunk& candidate) {
                         return offset < candidate.record.offset;
                       }) -
      chunks.begin());
  int64_t offset = place.offset;
  for (; !out.empty(); ++next) {
    SELARI_CHECK(next > 0 && next <= chunks.size());
    const StoredChunk& source = chunks[next - 1];
    const int64_t skip = offset - source.record.offset;
    const int64_t count =
        std::min(static_cast<int64_t>(out.size()), source.record.count - skip);
    SELARI_CHECK(skip >= 0 && count > 0);
    const int64_t array_begin =
        place.array == 0 ? source.record.weights_begin
                         : source.record.slots_begin +
                               (place.array - 1) * source.record.count *
                                   int64_t{sizeof(float)};
    SELARI_RETURN_IF_ERROR(VerifyFile(source.shard));
    SELARI_ASSIGN_OR_RETURN(const SafetensorsReader* const file,
                            File(source.shard));
    const absl::Span<float> part =
        out.subspan(0, static_cast<std::size_t>(count));
    SELARI_RETURN_IF_ERROR(
        file->ReadData(array_begin + skip * int64_t{sizeof(float)},
                       absl::MakeSpan(reinterpret_cast<char*>(part.data()),
                                      part.size() * sizeof(float))));
    out.remove_prefix(part.size());
    offset += count;
  }
  return absl::OkStatus();
}

}  // namespace selari
