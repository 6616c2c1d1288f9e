// Adam (Kingma and Ba, 2015).
//   m' = beta1 * m + (1 - beta1) * g
//   v' = beta2 * v + (1 - beta2) * g^2
//   w' = w - learning_rate * (m' / (1 - beta1^t))
//                          / (sqrt(v' / (1 - beta2^t)) + epsilon)
// with t the number of the update, from 1. As PyTorch's Adam without amsgrad:
// weight decay is an L2 term of the gradient.
// Slot 0: m, slot 1: v, at first 0.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_ADAM_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_ADAM_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, const AdamOptions& algorithm,
       const OptimizerKernels& kernels);

  int SlotCount() const override { return 2; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  const AdamOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_ADAM_H_
