// Stochastic gradient descent.
//   w' = w - learning_rate * g
// No slots. With momentum it is momentum.h.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SGD_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SGD_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const OptimizerKernels& kernels);

  int SlotCount() const override { return 0; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SGD_H_
