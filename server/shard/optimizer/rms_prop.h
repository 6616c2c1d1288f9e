// RMSProp (Hinton's lecture 6e, 2012), with optional momentum.
//   s' = alpha * s + (1 - alpha) * g^2
//   v' = momentum * v + g / (sqrt(s') + epsilon)
//   w' = w - learning_rate * v'
// As PyTorch's RMSprop, not centred: epsilon is outside the root, where
// TensorFlow has it inside, and the learning rate is outside v.
// Slot 0: s, at first 0. Slot 1, only with momentum: v, at first 0.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_RMS_PROP_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_RMS_PROP_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class RmsProp final : public Optimizer {
 public:
  RmsProp(const OptimizerOptions& options, const RmsPropOptions& algorithm,
          const OptimizerKernels& kernels);

  int SlotCount() const override { return algorithm_.momentum > 0 ? 2 : 1; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  const RmsPropOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_RMS_PROP_H_
