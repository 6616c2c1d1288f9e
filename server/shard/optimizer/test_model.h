// A small model kept by an Optimizer, for tests: weights, slots and chunks in
// one process, updated as shards and their clients do it together.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_TEST_MODEL_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_TEST_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/isa.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/learning_rate.h"

namespace selari {

// How the model's weights, laid end to end, are cut.
struct TestTensor {
  // Sizes of its chunks; the tensor's size is their sum.
  std::vector<int> chunk_sizes;
  bool skip_weight_decay = false;
};

class TestModel {
 public:
  // REQUIRES: valid options; the tensors' sizes add up to weights.size().
  TestModel(const OptimizerOptions& options, IsaLevel level,
            const std::vector<TestTensor>& tensors,
            const std::vector<float>& weights);

  // One update of all chunks.
  void Update(const std::vector<float>& grad);

  const std::vector<float>& weights() const { return weights_; }
  const std::vector<float>& slot(int slot) const { return slots_[slot]; }
  const Optimizer& optimizer() const { return *optimizer_; }
  // Updates done; the next one has this number plus 1.
  int64_t step() const { return step_; }
  void set_step(int64_t step) { step_ = step; }

 private:
  struct Chunk {
    int32_t tensor = 0;
    int begin = 0;
    int end = 0;
    std::vector<double> totals;
  };

  ApplyContext ContextOf(const Chunk& chunk, double learning_rate) const;
  UpdateArrays ArraysOf(const Chunk& chunk, const std::vector<float>& grad);
  void RunRound(int round, double learning_rate,
                const std::vector<float>& grad);

  std::unique_ptr<Optimizer> optimizer_;
  LearningRate learning_rate_;
  std::vector<TestTensor> tensors_;
  std::vector<Chunk> chunks_;
  std::vector<int32_t> chunk_tensors_;
  std::vector<float> weights_;
  std::vector<float> next_weights_;
  std::vector<std::vector<float>> slots_;
  int64_t step_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_TEST_MODEL_H_
