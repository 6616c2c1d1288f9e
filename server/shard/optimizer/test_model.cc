#include "server/shard/optimizer/test_model.h"

#include <utility>

#include "common/check.h"
#include "common/reduction_round.h"
#include "server/shard/optimizer/create_optimizer.h"

namespace selari {

TestModel::TestModel(const OptimizerOptions& options, IsaLevel level,
                     const std::vector<TestTensor>& tensors,
                     const std::vector<float>& weights)
    : optimizer_(CreateOptimizer(options, level).value()),
      learning_rate_(LearningRate::Create(options).value()),
      tensors_(tensors),
      weights_(weights),
      next_weights_(weights.size()) {
  int begin = 0;
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    for (const int size : tensors[tensor].chunk_sizes) {
      Chunk chunk;
      chunk.tensor = static_cast<int32_t>(tensor);
      chunk.begin = begin;
      chunk.end = begin + size;
      chunks_.push_back(chunk);
      chunk_tensors_.push_back(chunk.tensor);
      begin += size;
    }
  }
  SELARI_CHECK(static_cast<size_t>(begin) == weights.size());
  for (int slot = 0; slot < optimizer_->SlotCount(); ++slot) {
    slots_.emplace_back(weights.size(), optimizer_->InitialSlotValue(slot));
  }
}

void TestModel::Update(const std::vector<float>& grad) {
  SELARI_CHECK(grad.size() == weights_.size());
  const double learning_rate = learning_rate_.At(step_ + 1);
  for (Chunk& chunk : chunks_) {
    chunk.totals.clear();
  }
  for (int round = 0; round < optimizer_->RoundCount(); ++round) {
    RunRound(round, learning_rate, grad);
  }
  for (const Chunk& chunk : chunks_) {
    optimizer_->Apply(ContextOf(chunk, learning_rate), ArraysOf(chunk, grad));
  }
  std::swap(weights_, next_weights_);
  ++step_;
}

ApplyContext TestModel::ContextOf(const Chunk& chunk,
                                  double learning_rate) const {
  ApplyContext context;
  context.step = step_ + 1;
  context.learning_rate = learning_rate;
  context.skip_weight_decay = tensors_[chunk.tensor].skip_weight_decay;
  context.totals = chunk.totals;
  return context;
}

UpdateArrays TestModel::ArraysOf(const Chunk& chunk,
                                 const std::vector<float>& grad) {
  UpdateArrays arrays;
  arrays.n = chunk.end - chunk.begin;
  arrays.weights = weights_.data() + chunk.begin;
  arrays.grad = grad.data() + chunk.begin;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    arrays.slots[slot] = slots_[slot].data() + chunk.begin;
  }
  arrays.next_weights = next_weights_.data() + chunk.begin;
  return arrays;
}

void TestModel::RunRound(int round, double learning_rate,
                         const std::vector<float>& grad) {
  const ReductionRound& shape = optimizer_->Round(round);
  std::vector<double> partials(chunks_.size() * shape.sum_count);
  for (size_t i = 0; i < chunks_.size(); ++i) {
    optimizer_->PartialSums(
        round, ContextOf(chunks_[i], learning_rate), ArraysOf(chunks_[i], grad),
        absl::MakeSpan(partials).subspan(i * shape.sum_count, shape.sum_count));
  }
  const int tensor_count = static_cast<int>(tensors_.size());
  const std::vector<double> totals =
      CombinePartials(shape, chunk_tensors_, tensor_count, partials);
  for (Chunk& chunk : chunks_) {
    const absl::Span<const double> of_chunk =
        ChunkTotals(shape, chunk.tensor, totals);
    chunk.totals.insert(chunk.totals.end(), of_chunk.begin(), of_chunk.end());
  }
}

}  // namespace selari
