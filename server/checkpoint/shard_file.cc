#include "server/checkpoint/shard_file.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "common/safetensors_header.h"
#include "common/safetensors_writer.h"
#include "common/shard_snapshot.h"
#include "common/status.h"
#include "common/tensor_file.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "buffers are written as they stand");

constexpr char kFormatKey[] = "selari.format";
constexpr char kFormat[] = "shard 1";
constexpr char kJobIdKey[] = "selari.job_id";
constexpr char kShardKey[] = "selari.shard";
constexpr char kVersionKey[] = "selari.version";
constexpr char kSlotCountKey[] = "selari.slot_count";
// Rows of [chunk, tensor, offset, version].
constexpr char kChunksKey[] = "selari.chunks";
// Rows of [worker_id, incarnation, sequence, clock].
constexpr char kWorkersKey[] = "selari.workers";

// More than any optimizer has.
constexpr int32_t kSlotCountMax = 64;

using Metadata = std::map<std::string, std::string>;

absl::string_view BytesOf(const FloatBuffer& buffer) {
  return absl::string_view(reinterpret_cast<const char*>(buffer.data()),
                           static_cast<std::size_t>(buffer.size_bytes()));
}

int64_t SlotCountOf(const ChunkState& chunk) {
  SELARI_CHECK(chunk.weights != nullptr && chunk.weights->size() > 0);
  if (chunk.slots == nullptr) {
    return 0;
  }
  SELARI_CHECK(chunk.slots->size() % chunk.weights->size() == 0);
  return chunk.slots->size() / chunk.weights->size();
}

int64_t SlotCountOf(const ShardSnapshot& snapshot) {
  if (snapshot.chunks.empty()) {
    return 0;
  }
  const int64_t slot_count = SlotCountOf(snapshot.chunks.front());
  for (const ChunkState& chunk : snapshot.chunks) {
    SELARI_CHECK(SlotCountOf(chunk) == slot_count);
  }
  return slot_count;
}

Metadata MakeMetadata(const v1::ResolvedJob& job, const ShardSnapshot& snapshot,
                      int64_t slot_count) {
  std::vector<std::string> chunks;
  for (const ChunkState& chunk : snapshot.chunks) {
    chunks.push_back(absl::StrCat("[", chunk.chunk, ",", chunk.tensor, ",",
                                  chunk.offset, ",", chunk.version, "]"));
  }
  std::vector<std::string> workers;
  for (const WorkerClock& worker : snapshot.workers) {
    workers.push_back(absl::StrCat("[", worker.worker_id, ",",
                                   worker.incarnation, ",", worker.sequence,
                                   ",", worker.clock, "]"));
  }
  return {
      {kFormatKey, kFormat},
      {kJobIdKey, job.job_id()},
      {kShardKey, absl::StrCat(snapshot.shard)},
      {kVersionKey, absl::StrCat(snapshot.version)},
      {kSlotCountKey, absl::StrCat(slot_count)},
      {kChunksKey, absl::StrCat("[", absl::StrJoin(chunks, ","), "]")},
      {kWorkersKey, absl::StrCat("[", absl::StrJoin(workers, ","), "]")},
  };
}

std::vector<TensorDeclaration> MakeDeclarations(const v1::ResolvedJob& job,
                                                const ShardSnapshot& snapshot,
                                                int64_t slot_count) {
  std::vector<TensorDeclaration> declarations;
  for (const ChunkState& chunk : snapshot.chunks) {
    SELARI_CHECK(chunk.tensor >= 0 && chunk.tensor < job.tensors_size());
    const std::string name = absl::StrFormat(
        "%s/chunk-%08d", job.tensors(chunk.tensor).name(), chunk.chunk);
    const int64_t count = chunk.weights->size();
    declarations.push_back({name, ElementType::kF32, {count}});
    if (slot_count > 0) {
      declarations.push_back(
          {name + "/slots", ElementType::kF32, {slot_count, count}});
    }
  }
  return declarations;
}

absl::Status BadMetadata(absl::string_view key) {
  return absl::DataLossError(
      absl::StrCat("no shard file of a checkpoint: metadata \"", key,
                   "\" is missing or impossible"));
}

// A decimal number in [0, max] of the metadata.
absl::StatusOr<int64_t> NumberOf(const Metadata& metadata, const char* key,
                                 int64_t max) {
  const auto it = metadata.find(key);
  int64_t number = 0;
  if (it == metadata.end() || !absl::SimpleAtoi(it->second, &number) ||
      number < 0 || number > max) {
    return BadMetadata(key);
  }
  return number;
}

using Row = std::vector<uint64_t>;

// A JSON array of rows of four numbers; the bounds are the first's and the
// others', by position.
absl::StatusOr<std::vector<Row>> RowsOf(const Metadata& metadata,
                                        const char* key, const Row& max) {
  using nlohmann::json;
  const auto it = metadata.find(key);
  if (it == metadata.end()) {
    return BadMetadata(key);
  }
  bool too_deep = false;
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t,
                                            json&) {
    // What is dropped takes no memory: a text of brackets is harmless.
    too_deep = too_deep || depth > 2;
    return !too_deep;
  };
  const json table = json::parse(it->second, watch, /*allow_exceptions=*/false);
  if (too_deep || !table.is_array()) {
    return BadMetadata(key);
  }
  std::vector<Row> rows;
  for (const json& cells : table) {
    if (!cells.is_array() || cells.size() != max.size()) {
      return BadMetadata(key);
    }
    Row row;
    for (std::size_t i = 0; i < max.size(); ++i) {
      const auto* number = cells[i].get_ptr<const json::number_unsigned_t*>();
      if (!cells[i].is_number_unsigned() || *number > max[i]) {
        return BadMetadata(key);
      }
      row.push_back(*number);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

constexpr uint64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr uint64_t kInt64Max = std::numeric_limits<int64_t>::max();

absl::Status ReadWorkers(const Metadata& metadata, ShardFileIndex& index) {
  SELARI_ASSIGN_OR_RETURN(
      const std::vector<Row> rows,
      RowsOf(metadata, kWorkersKey,
             {kInt32Max, std::numeric_limits<uint64_t>::max(), kInt64Max,
              kInt64Max}));
  for (const Row& row : rows) {
    WorkerClock worker;
    worker.worker_id = static_cast<int32_t>(row[0]);
    worker.incarnation = row[1];
    worker.sequence = static_cast<int64_t>(row[2]);
    worker.clock = static_cast<int64_t>(row[3]);
    if (!index.workers.empty() &&
        index.workers.back().worker_id >= worker.worker_id) {
      return BadMetadata(kWorkersKey);
    }
    index.workers.push_back(worker);
  }
  return absl::OkStatus();
}

// Takes the chunk's entries from the header, in the order they were written.
absl::Status ReadChunk(const Row& row,
                       const std::vector<SafetensorsEntry>& entries,
                       std::size_t first_entry, ShardFileIndex& index) {
  ChunkRecord record;
  record.chunk = static_cast<int32_t>(row[0]);
  record.tensor = static_cast<int32_t>(row[1]);
  record.offset = static_cast<int64_t>(row[2]);
  record.version = static_cast<int64_t>(row[3]);
  const SafetensorsEntry& weights = entries[first_entry];
  if (weights.tensor.type != ElementType::kF32 ||
      weights.tensor.shape.size() != 1 || weights.tensor.shape[0] == 0 ||
      (!index.chunks.empty() && index.chunks.back().chunk >= record.chunk)) {
    return BadMetadata(kChunksKey);
  }
  record.count = weights.tensor.shape[0];
  record.weights_begin = weights.begin;
  if (index.slot_count > 0) {
    const SafetensorsEntry& slots = entries[first_entry + 1];
    if (slots.tensor.type != ElementType::kF32 ||
        slots.tensor.shape !=
            std::vector<int64_t>{index.slot_count, record.count}) {
      return BadMetadata(kSlotCountKey);
    }
    record.slots_begin = slots.begin;
  }
  index.chunks.push_back(record);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ShardFile> WriteShardFile(FileEnv& env,
                                             absl::string_view dir,
                                             const v1::ResolvedJob& job,
                                             const ShardSnapshot& snapshot) {
  const int64_t slot_count = SlotCountOf(snapshot);
  v1::ShardFile entry;
  entry.set_shard(snapshot.shard);
  entry.set_file_name(ShardFileName(snapshot.shard));
  entry.set_version(snapshot.version);
  SELARI_RETURN_IF_ERROR(CreateDirsDurably(env, dir));
  SELARI_ASSIGN_OR_RETURN(
      const std::unique_ptr<TensorFileWriter> writer,
      CreateSafetensorsFile(env, JoinPath(dir, entry.file_name()),
                            MakeDeclarations(job, snapshot, slot_count),
                            MakeMetadata(job, snapshot, slot_count)));
  for (const ChunkState& chunk : snapshot.chunks) {
    SELARI_RETURN_IF_ERROR(writer->Append(BytesOf(*chunk.weights)));
    if (slot_count > 0) {
      SELARI_RETURN_IF_ERROR(writer->Append(BytesOf(*chunk.slots)));
    }
  }
  SELARI_ASSIGN_OR_RETURN(const WrittenFile written, writer->Finish());
  SELARI_RETURN_IF_ERROR(env.SyncDir(dir));
  entry.set_size_bytes(written.size_bytes);
  entry.set_sha256(written.sha256);
  return entry;
}

absl::StatusOr<ShardFileIndex> ParseShardFileIndex(
    const SafetensorsHeader& header) {
  const Metadata& metadata = header.metadata;
  const auto format = metadata.find(kFormatKey);
  const auto job_id = metadata.find(kJobIdKey);
  if (format == metadata.end() || format->second != kFormat) {
    return BadMetadata(kFormatKey);
  }
  if (job_id == metadata.end()) {
    return BadMetadata(kJobIdKey);
  }
  ShardFileIndex index;
  index.job_id = job_id->second;
  SELARI_ASSIGN_OR_RETURN(const int64_t shard,
                          NumberOf(metadata, kShardKey, kInt32Max));
  index.shard = static_cast<int32_t>(shard);
  SELARI_ASSIGN_OR_RETURN(index.version,
                          NumberOf(metadata, kVersionKey, kInt64Max));
  SELARI_ASSIGN_OR_RETURN(const int64_t slot_count,
                          NumberOf(metadata, kSlotCountKey, kSlotCountMax));
  index.slot_count = static_cast<int32_t>(slot_count);
  SELARI_RETURN_IF_ERROR(ReadWorkers(metadata, index));

  SELARI_ASSIGN_OR_RETURN(const std::vector<Row> rows,
                          RowsOf(metadata, kChunksKey,
                                 {kInt32Max, kInt32Max, kInt64Max, kInt64Max}));
  const std::size_t entries_per_chunk = slot_count > 0 ? 2 : 1;
  if (header.entries.size() != rows.size() * entries_per_chunk) {
    return BadMetadata(kChunksKey);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SELARI_RETURN_IF_ERROR(
        ReadChunk(rows[i], header.entries, i * entries_per_chunk, index));
  }
  return index;
}

}  // namespace selari
