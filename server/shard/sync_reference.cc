#include "server/shard/sync_reference.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "common/random.h"
#include "common/reduction_round.h"
#include "server/shard/initial_values.h"

namespace selari {

std::vector<float> LeafGradient(const ShardJob& job, int32_t chunk,
                                int64_t step, int32_t leaf,
                                const std::vector<float>& weights) {
  const RandomKey key = MakeRandomKey(job.resolved.job().seed(),
                                      RandomStream::kTest, chunk, step);
  std::vector<float> gradient(weights.size());
  FillNormal(key, static_cast<uint64_t>(leaf) << 32, 0.0f, 1.0f,
             absl::MakeSpan(gradient));
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] += weights[i] * 0.1f;
  }
  return gradient;
}

std::vector<float> NodeGradient(const ShardJob& job, int32_t chunk,
                                int64_t step, TreeNode node,
                                const std::vector<float>& weights) {
  if (node.level == 0) {
    return LeafGradient(job, chunk, step, node.index, weights);
  }
  const TreeNode left{node.level - 1, 2 * node.index};
  const TreeNode right{node.level - 1, 2 * node.index + 1};
  std::vector<float> sum = NodeGradient(job, chunk, step, left, weights);
  if (job.tree.Contains(right)) {
    const std::vector<float> other =
        NodeGradient(job, chunk, step, right, weights);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = sum[i] + other[i];
    }
  }
  return sum;
}

SyncReference::SyncReference(std::shared_ptr<const ShardJob> job)
    : job_(std::move(job)) {
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    std::vector<float> weights(spec.count);
    FillInitialValues(job_->resolved.job().seed(), spec.tensor,
                      job_->tensor(spec).initializer(), spec.offset,
                      absl::MakeSpan(weights));
    weights_.push_back(std::move(weights));
    std::vector<float> slots;
    for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
      slots.insert(slots.end(), spec.count,
                   job_->optimizer->InitialSlotValue(slot));
    }
    slots_.push_back(std::move(slots));
  }
}

void SyncReference::Step() {
  const Optimizer& optimizer = *job_->optimizer;
  std::vector<std::vector<float>> gradients;
  std::vector<int32_t> tensors;
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    gradients.push_back(NodeGradient(*job_, spec.chunk, step_,
                                     job_->tree.root(), weights_[spec.chunk]));
    tensors.push_back(spec.tensor);
  }
  std::vector<std::vector<double>> totals;
  std::vector<double> storage;
  for (int round = 0; round < optimizer.RoundCount(); ++round) {
    const int sum_count = optimizer.Round(round).sum_count;
    std::vector<double> partials(tensors.size() * sum_count);
    for (const ChunkSpec& spec : job_->layout.chunks()) {
      optimizer.PartialSums(
          round, ContextOf(spec, totals, &storage),
          ArraysOf(spec, gradients[spec.chunk].data()),
          absl::MakeSpan(partials).subspan(spec.chunk * sum_count, sum_count));
    }
    totals.push_back(CombinePartials(optimizer.Round(round), tensors,
                                     job_->layout.tensor_count(), partials));
  }
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    std::vector<float> next(spec.count);
    UpdateArrays arrays = ArraysOf(spec, gradients[spec.chunk].data());
    arrays.next_weights = next.data();
    optimizer.Apply(ContextOf(spec, totals, &storage), arrays);
    weights_[spec.chunk] = std::move(next);
  }
  ++step_;
}

ApplyContext SyncReference::ContextOf(
    const ChunkSpec& spec, const std::vector<std::vector<double>>& totals,
    std::vector<double>* storage) const {
  storage->clear();
  for (size_t round = 0; round < totals.size(); ++round) {
    const auto of_chunk =
        ChunkTotals(job_->optimizer->Round(round), spec.tensor, totals[round]);
    storage->insert(storage->end(), of_chunk.begin(), of_chunk.end());
  }
  ApplyContext context;
  context.step = step_ + 1;
  context.learning_rate = job_->learning_rate.At(step_ + 1);
  context.skip_weight_decay = job_->tensor(spec).skip_weight_decay();
  context.totals = *storage;
  return context;
}

UpdateArrays SyncReference::ArraysOf(const ChunkSpec& spec,
                                     const float* gradient) {
  UpdateArrays arrays;
  arrays.n = spec.count;
  arrays.weights = weights_[spec.chunk].data();
  arrays.grad = gradient;
  for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
    arrays.slots[slot] = slots_[spec.chunk].data() + slot * spec.count;
  }
  return arrays;
}

}  // namespace selari
