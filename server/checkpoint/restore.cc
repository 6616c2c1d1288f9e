#include "server/checkpoint/restore.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/chunk_layout.h"
#include "common/float_buffer.h"
#include "common/shard_snapshot.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/tensor.pb.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

// The highest version of the stored chunks that overlap `chunk`.
int64_t VersionOf(const CheckpointReader& reader, const ChunkSpec& chunk) {
  const absl::Span<const StoredChunk> stored =
      reader.ChunksOfTensor(chunk.tensor);
  // The first that ends after the chunk's start.
  auto it = std::partition_point(
      stored.begin(), stored.end(), [&chunk](const StoredChunk& candidate) {
        return candidate.record.offset + candidate.record.count <= chunk.offset;
      });
  int64_t version = 0;
  for (; it != stored.end() && it->record.offset < chunk.offset + chunk.count;
       ++it) {
    version = std::max(version, it->record.version);
  }
  return version;
}

absl::StatusOr<ChunkState> ReadChunk(CheckpointReader& reader,
                                     const ChunkSpec& chunk) {
  ChunkState state;
  state.chunk = chunk.chunk;
  state.tensor = chunk.tensor;
  state.offset = chunk.offset;
  state.version = VersionOf(reader, chunk);
  CheckpointReader::Place place;
  place.tensor = chunk.tensor;
  place.offset = chunk.offset;
  const auto count = static_cast<std::size_t>(chunk.count);

  const std::shared_ptr<FloatBuffer> weights =
      FloatBuffer::Allocate(chunk.count);
  SELARI_RETURN_IF_ERROR(
      reader.Read(place, absl::MakeSpan(weights->data(), count)));
  state.weights = weights;
  if (reader.slot_count() > 0) {
    const std::shared_ptr<FloatBuffer> slots =
        FloatBuffer::Allocate(chunk.count * reader.slot_count());
    for (int32_t slot = 0; slot < reader.slot_count(); ++slot) {
      place.array = 1 + slot;
      SELARI_RETURN_IF_ERROR(reader.Read(
          place, absl::MakeSpan(slots->data() + slot * chunk.count, count)));
    }
    state.slots = slots;
  }
  return state;
}

// Whether the checkpoint's file of this shard holds just these chunks.
bool IsCutAlike(const CheckpointReader& reader, const ChunkLayout& layout,
                int32_t shard) {
  if (reader.manifest().shards_size() != layout.shard_count()) {
    return false;
  }
  const std::vector<ChunkRecord>& records =
      reader.files()[static_cast<std::size_t>(shard)].chunks;
  const absl::Span<const ChunkSpec> chunks = layout.ChunksOfShard(shard);
  return std::equal(records.begin(), records.end(), chunks.begin(),
                    chunks.end(), [](const ChunkRecord& a, const ChunkSpec& b) {
                      return a.chunk == b.chunk && a.tensor == b.tensor &&
                             a.offset == b.offset && a.count == b.count;
                    });
}

std::vector<WorkerClock> ClocksOnly(const v1::CheckpointManifest& manifest) {
  std::vector<WorkerClock> workers;
  for (const v1::WorkerClock& saved : manifest.worker_clocks()) {
    WorkerClock worker;
    worker.worker_id = saved.worker_id();
    worker.clock = saved.clock();
    workers.push_back(worker);
  }
  return workers;
}

std::string ShapeText(const v1::TensorSpec& tensor) {
  return absl::StrCat("\"", tensor.name(), "\" of shape [",
                      absl::StrJoin(tensor.shape(), ", "), "]");
}

absl::string_view AlgorithmName(const v1::Optimizer& optimizer) {
  const google::protobuf::FieldDescriptor* const field =
      optimizer.GetReflection()->GetOneofFieldDescriptor(
          optimizer, optimizer.GetDescriptor()->FindOneofByName("algorithm"));
  return field == nullptr ? "none" : absl::string_view(field->name());
}

}  // namespace

absl::StatusOr<ShardSnapshot> ReadShardSnapshot(CheckpointReader& reader,
                                                const ChunkLayout& layout,
                                                int32_t shard) {
  SELARI_CHECK(layout.tensor_count() == reader.manifest().job().tensors_size());
  ShardSnapshot snapshot;
  snapshot.shard = shard;
  for (const ChunkSpec& chunk : layout.ChunksOfShard(shard)) {
    SELARI_CHECK(chunk.offset + chunk.count <=
                 reader.ElementCount(chunk.tensor));
    SELARI_ASSIGN_OR_RETURN(ChunkState state, ReadChunk(reader, chunk));
    snapshot.version = std::max(snapshot.version, state.version);
    snapshot.chunks.push_back(std::move(state));
  }
  if (IsCutAlike(reader, layout, shard)) {
    // A shard without chunks has no byte that Read would have checked.
    SELARI_RETURN_IF_ERROR(reader.VerifyFile(shard));
    const ShardFileIndex& file =
        reader.files()[static_cast<std::size_t>(shard)];
    snapshot.version = file.version;
    snapshot.workers = file.workers;
    snapshot.log_sequence = reader.manifest().shards(shard).journal_sequence();
  } else {
    snapshot.workers = ClocksOnly(reader.manifest());
  }
  return snapshot;
}

absl::Status CheckSameModel(const v1::ResolvedJob& saved,
                            const v1::ResolvedJob& job) {
  const int shared = std::min(saved.tensors_size(), job.tensors_size());
  for (int i = 0; i < shared; ++i) {
    const std::string was = ShapeText(saved.tensors(i));
    const std::string is = ShapeText(job.tensors(i));
    if (was != is) {
      return absl::FailedPreconditionError(
          absl::StrCat("the checkpoint is of another model: its tensor ", i,
                       " is ", was, ", the job's is ", is));
    }
  }
  if (saved.tensors_size() != job.tensors_size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint is of another model: it has ", saved.tensors_size(),
        " tensors, the job has ", job.tensors_size()));
  }
  const absl::string_view was = AlgorithmName(saved.job().optimizer());
  const absl::string_view is = AlgorithmName(job.job().optimizer());
  if (was != is) {
    return absl::FailedPreconditionError(
        absl::StrCat("the checkpoint holds the state of optimizer ", was,
                     ", the job uses ", is));
  }
  return absl::OkStatus();
}

}  // namespace selari
