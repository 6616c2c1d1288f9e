// The optimizers once more, in double precision, for tests: whole tensors,
// formulas as their papers (and PyTorch) write them, the library's functions,
// nothing shared with the code under test but the options.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_DOUBLE_MODEL_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_DOUBLE_MODEL_H_

#include <cstdint>
#include <vector>

#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

// Constant learning rate. Tensors lie end to end in `weights`.
class DoubleModel {
 public:
  DoubleModel(const OptimizerOptions& options,
              const std::vector<int>& tensor_sizes,
              const std::vector<bool>& skip_weight_decay,
              const std::vector<float>& weights);

  void Update(const std::vector<float>& grad);

  const std::vector<double>& weights() const { return w_; }

 private:
  void Step(const SgdOptions& options, double lr, double decay, int i);
  void Step(const AdagradOptions& options, double lr, double decay, int i);
  void Step(const RmsPropOptions& options, double lr, double decay, int i);
  void Step(const AdamOptions& options, double lr, double decay, int i);
  void Step(const AdamWOptions& options, double lr, double decay, int i);
  void Step(const LambOptions& options, double lr, double decay, int i);
  // Adam's direction of element i; updates its moments.
  double Direction(double beta1, double beta2, double epsilon, int i);
  void Clip();

  const OptimizerOptions options_;
  const std::vector<int> tensor_sizes_;
  const std::vector<bool> skip_weight_decay_;
  int64_t step_ = 0;
  std::vector<double> w_, g_, first_, second_, update_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_DOUBLE_MODEL_H_
