#include "server/shard/shard_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/sha256.h"
#include "common/status.h"
#include "server/shard/initial_values.h"

namespace selari {
namespace {

absl::Status CheckChunk(const ShardJob& job, const ChunkSpec& spec,
                        const ChunkState& chunk) {
  const int64_t slot_floats = spec.count * job.optimizer->SlotCount();
  const int64_t weights = chunk.weights == nullptr ? 0 : chunk.weights->size();
  const int64_t slots = chunk.slots == nullptr ? 0 : chunk.slots->size();
  if (chunk.chunk != spec.chunk || chunk.tensor != spec.tensor ||
      chunk.offset != spec.offset || weights != spec.count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk ", chunk.chunk, " with ", weights, " elements of tensor ",
        chunk.tensor, " from ", chunk.offset, " on, the job has chunk ",
        spec.chunk, " with ", spec.count, " elements of tensor ", spec.tensor,
        " from ", spec.offset, " on"));
  }
  if (slots != slot_floats) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk ", chunk.chunk, " has ", slots,
        " floats of optimizer state, the job's optimizer needs ", slot_floats));
  }
  if (chunk.version < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", chunk.chunk, " has version ", chunk.version));
  }
  return absl::OkStatus();
}

absl::Status CheckSnapshot(const ShardJob& job, const ShardSnapshot& snapshot) {
  if (snapshot.shard < 0 || snapshot.shard >= job.layout.shard_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job has ", job.layout.shard_count(), " shards"));
  }
  const absl::Span<const ChunkSpec> specs =
      job.layout.ChunksOfShard(snapshot.shard);
  if (snapshot.chunks.size() != specs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", snapshot.chunks.size(),
                     " chunks, the job's layout has ", specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    SELARI_RETURN_IF_ERROR(CheckChunk(job, specs[i], snapshot.chunks[i]));
    if (job.optimizer->RoundCount() > 0 &&
        snapshot.chunks[i].version != snapshot.chunks[0].version) {
      return absl::InvalidArgumentError(absl::StrCat(
          "chunk ", specs[i].chunk, " has version ", snapshot.chunks[i].version,
          " and chunk ", specs[0].chunk, " version ",
          snapshot.chunks[0].version, ": not one cut"));
    }
  }
  for (const WorkerClock& worker : snapshot.workers) {
    if (!worker.chunk_clocks.empty() &&
        worker.chunk_clocks.size() != specs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker ", worker.worker_id, " has clocks for ",
                       worker.chunk_clocks.size(), " chunks"));
    }
  }
  return absl::OkStatus();
}

FloatSlice SliceOf(const std::shared_ptr<const FloatBuffer>& buffer) {
  return {buffer->data(), buffer->size(), buffer};
}

absl::string_view Bytes(const FloatBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()),
          static_cast<size_t>(buffer.size_bytes())};
}

}  // namespace

ShardState::ShardState(std::shared_ptr<const ShardJob> job, int32_t shard,
                       std::vector<int64_t> versions)
    : job_(std::move(job)),
      shard_(shard),
      keeps_previous_(job_->sync() &&
                      job_->resolved.job().cluster().servers() > 0),
      cells_(versions.size()),
      versions_(std::move(versions)),
      workers_(cells_.size()) {
  SELARI_CHECK(cells_.size() == chunks().size());
  const int slot_count = job_->optimizer->SlotCount();
  for (size_t i = 0; i < cells_.size(); ++i) {
    const int64_t floats = chunks()[i].count;
    cells_[i].weight_pool = PoolFor(floats);
    if (slot_count > 0) {
      cells_[i].slot_pool = PoolFor(floats * slot_count);
    }
    state_bytes_ +=
        floats * (1 + slot_count) * static_cast<int64_t>(sizeof(float));
  }
}

std::unique_ptr<ShardState> ShardState::Initial(
    std::shared_ptr<const ShardJob> job, int32_t shard) {
  const size_t chunk_count = job->layout.ChunksOfShard(shard).size();
  std::unique_ptr<ShardState> state(new ShardState(
      std::move(job), shard, std::vector<int64_t>(chunk_count, 0)));
  const ShardJob& shard_job = state->job();
  for (size_t i = 0; i < chunk_count; ++i) {
    const ChunkSpec& spec = state->chunks()[i];
    Cell& cell = state->cells_[i];
    std::shared_ptr<FloatBuffer> weights = cell.weight_pool->Take();
    FillInitialValues(shard_job.resolved.job().seed(), spec.tensor,
                      shard_job.tensor(spec).initializer(), spec.offset,
                      {weights->data(), static_cast<size_t>(spec.count)});
    cell.weights = std::move(weights);
    if (cell.slot_pool == nullptr) {
      continue;
    }
    cell.slots = cell.slot_pool->Take();
    for (int slot = 0; slot < shard_job.optimizer->SlotCount(); ++slot) {
      std::fill_n(cell.slots->data() + slot * spec.count, spec.count,
                  shard_job.optimizer->InitialSlotValue(slot));
    }
  }
  return state;
}

absl::StatusOr<std::unique_ptr<ShardState>> ShardState::FromSnapshot(
    std::shared_ptr<const ShardJob> job, const ShardSnapshot& snapshot) {
  SELARI_RETURN_IF_ERROR(
      Annotate(CheckSnapshot(*job, snapshot),
               absl::StrCat("snapshot of shard ", snapshot.shard)));
  std::vector<int64_t> versions;
  for (const ChunkState& chunk : snapshot.chunks) {
    versions.push_back(chunk.version);
  }
  const bool sync = job->sync();
  std::unique_ptr<ShardState> state(
      new ShardState(std::move(job), snapshot.shard, std::move(versions)));
  for (size_t i = 0; i < snapshot.chunks.size(); ++i) {
    Cell& cell = state->cells_[i];
    cell.weights = snapshot.chunks[i].weights;
    if (cell.slot_pool != nullptr) {
      // Never written: the first update makes a copy.
      cell.slots =
          std::const_pointer_cast<FloatBuffer>(snapshot.chunks[i].slots);
      cell.slots_shared = true;
    }
  }
  if (!sync) {
    state->workers_.Restore(snapshot.workers);
  }
  return state;
}

void ShardState::Apply(const ShardOp& op, ApplyEffects* effects) {
  if (const auto* reduced = std::get_if<ReducedOp>(&op)) {
    ApplyReduced(*reduced, effects);
  } else if (const auto* totals = std::get_if<TotalsOp>(&op)) {
    ApplyTotals(*totals, effects);
  } else {
    ApplyPush(std::get<PushOp>(op), effects);
  }
}

void ShardState::ApplyReduced(const ReducedOp& op, ApplyEffects* effects) {
  const size_t index = IndexOf(op.chunk);
  Cell& cell = cells_[index];
  SELARI_CHECK(op.step == version(index) && !cell.reduced.has_value());
  if (job_->optimizer->RoundCount() == 0) {
    Update(index, op.gradient, op.step, effects);
    return;
  }
  SELARI_CHECK(round() == 0);
  cell.reduced = Contiguous(index, op.gradient);
  ++reduced_count_;
  SumRound(index, effects);
}

void ShardState::ApplyTotals(const TotalsOp& op, ApplyEffects* effects) {
  SELARI_CHECK(op.round == round() && AllReduced());
  SELARI_CHECK(op.step == min_version());
  totals_.push_back(op.totals);
  const bool last = round() == job_->optimizer->RoundCount();
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (last) {
      Update(i, *cells_[i].reduced, op.step, effects);
      cells_[i].reduced.reset();
    } else {
      SumRound(i, effects);
    }
  }
  if (last) {
    totals_.clear();
    reduced_count_ = 0;
  }
}

void ShardState::ApplyPush(const PushOp& op, ApplyEffects* effects) {
  const size_t index = IndexOf(op.chunk);
  if (workers_.Record(op.worker, op.sequence, index, op.clock)) {
    Update(index, op.gradient, op.clock, effects);
  }
}

// One pass over memory: each part of the gradient is applied where it lies, or
// summed in the cache and applied from there. `step` counts from 0 and is what
// the rate depends on.
void ShardState::Update(size_t index, const ReducedGradient& gradient,
                        int64_t step, ApplyEffects* effects) {
  Cell& cell = cells_[index];
  const int64_t count = chunks()[index].count;
  SELARI_CHECK(gradient.size() == count);
  if (cell.slots_shared) {
    std::shared_ptr<FloatBuffer> copy = cell.slot_pool->Take();
    std::copy_n(cell.slots->data(), cell.slots->size(), copy->data());
    cell.slots = std::move(copy);
    cell.slots_shared = false;
  }
  // Nobody can need it now, and its memory is what Take gives.
  cell.previous.reset();
  std::shared_ptr<FloatBuffer> next = cell.weight_pool->Take();
  const ApplyContext context = ContextOf(index, step);
  float* const scratch = Scratch(gradient.scratch_blocks());
  for (int64_t offset = 0; offset < count;) {
    const FloatSlice::Part part = gradient.PartAt(offset, scratch);
    UpdateArrays arrays = ArraysOf(index);
    arrays.n = part.size;
    arrays.weights += offset;
    arrays.grad = part.data;
    for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
      arrays.slots[slot] += offset;
    }
    arrays.next_weights = next->data() + offset;
    job_->optimizer->Apply(context, arrays);
    offset += part.size;
  }
  if (keeps_previous_) {
    cell.previous = std::move(cell.weights);
  }
  cell.weights = std::move(next);
  versions_.RaiseTo(index, version(index) + 1);
  effects->updated_chunks.push_back(chunks()[index].chunk);
}

void ShardState::SumRound(size_t index, ApplyEffects* effects) {
  Cell& cell = cells_[index];
  const Optimizer& optimizer = *job_->optimizer;
  UpdateArrays arrays = ArraysOf(index);
  arrays.grad = cell.reduced->PartAt(0, nullptr).data;
  std::vector<double> sums(optimizer.Round(round()).sum_count);
  optimizer.PartialSums(round(), ContextOf(index, version(index)), arrays,
                        absl::MakeSpan(sums));
  cell.partials.erase(std::remove_if(cell.partials.begin(), cell.partials.end(),
                                     [&](const ReductionPartials& partials) {
                                       return partials.step <
                                              version(index) - 1;
                                     }),
                      cell.partials.end());
  cell.partials.push_back(
      {version(index), round(), chunks()[index].chunk, std::move(sums)});
  effects->partials.push_back(cell.partials.back());
}

// A gradient that must wait for totals and is read more than once: summed into
// a buffer, unless it is in one piece already.
ReducedGradient ShardState::Contiguous(size_t index,
                                       const ReducedGradient& gradient) {
  if (gradient.scratch_blocks() == 0) {
    return gradient;
  }
  std::shared_ptr<FloatBuffer> sum = cells_[index].weight_pool->Take();
  gradient.CopyTo(sum->data(), Scratch(gradient.scratch_blocks()));
  const float* const data = sum->data();
  const int64_t size = sum->size();
  return ReducedGradient(FloatSlice{data, size, std::move(sum)});
}

ApplyContext ShardState::ContextOf(size_t index, int64_t step) {
  const ChunkSpec& spec = chunks()[index];
  context_totals_.clear();
  for (size_t round = 0; round < totals_.size(); ++round) {
    const absl::Span<const double> of_chunk =
        ChunkTotals(job_->optimizer->Round(round), spec.tensor, totals_[round]);
    context_totals_.insert(context_totals_.end(), of_chunk.begin(),
                           of_chunk.end());
  }
  if (rate_step_ != step + 1) {
    rate_step_ = step + 1;
    rate_ = job_->learning_rate.At(rate_step_);
  }
  ApplyContext context;
  context.step = version(index) + 1;
  context.learning_rate = rate_;
  context.skip_weight_decay = job_->tensor(spec).skip_weight_decay();
  context.totals = context_totals_;
  return context;
}

// The whole chunk, but for the gradient and the next weights.
UpdateArrays ShardState::ArraysOf(size_t index) const {
  const Cell& cell = cells_[index];
  UpdateArrays arrays;
  arrays.n = chunks()[index].count;
  arrays.weights = cell.weights->data();
  for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
    arrays.slots[slot] = cell.slots->data() + slot * arrays.n;
  }
  return arrays;
}

FloatSlice ShardState::weights(size_t index) const {
  return SliceOf(cells_[index].weights);
}

FloatSlice ShardState::previous_weights(size_t index) const {
  return has_previous(index) ? SliceOf(cells_[index].previous) : FloatSlice();
}

std::vector<ReductionPartials> ShardState::RecentPartials() const {
  std::vector<ReductionPartials> partials;
  for (const Cell& cell : cells_) {
    partials.insert(partials.end(), cell.partials.begin(), cell.partials.end());
  }
  return partials;
}

ChunkState ShardState::CaptureChunk(size_t index) {
  Cell& cell = cells_[index];
  cell.slots_shared = cell.slots != nullptr;
  const ChunkSpec& spec = chunks()[index];
  return {spec.chunk,     spec.tensor,  spec.offset,
          version(index), cell.weights, cell.slots};
}

std::string ShardState::Digest() const {
  Sha256 hash;
  hash.UpdateInt64(shard_);
  for (size_t i = 0; i < cells_.size(); ++i) {
    hash.UpdateInt64(chunks()[i].chunk);
    hash.UpdateInt64(version(i));
    hash.Update(Bytes(*cells_[i].weights));
    if (cells_[i].slots != nullptr) {
      hash.Update(Bytes(*cells_[i].slots));
    }
  }
  for (const WorkerClock& worker : workers_.Snapshot()) {
    hash.UpdateInt64(worker.worker_id);
    hash.UpdateInt64(static_cast<int64_t>(worker.incarnation));
    hash.UpdateInt64(worker.sequence);
    for (const int64_t clock : worker.chunk_clocks) {
      hash.UpdateInt64(clock);
    }
  }
  return hash.FinishHex();
}

float* ShardState::Scratch(int32_t blocks) {
  if (blocks == 0) {
    return nullptr;
  }
  const int64_t floats = blocks * ReductionProgram::kBlockFloats;
  if (scratch_ == nullptr || scratch_->size() < floats) {
    scratch_ = FloatBuffer::Allocate(floats);
  }
  return scratch_->data();
}

BufferPool* ShardState::PoolFor(int64_t floats) {
  std::unique_ptr<BufferPool>& pool = pools_[floats];
  if (pool == nullptr) {
    pool = std::make_unique<BufferPool>(floats);
  }
  return pool.get();
}

}  // namespace selari
