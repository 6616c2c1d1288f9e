// AdamW (Loshchilov and Hutter, 2019): Adam with decoupled weight decay.
//   w' = (1 - learning_rate * weight_decay) * w - Adam's step
// As PyTorch's AdamW: the decay follows the scheduled learning rate.
// Slot 0: m, slot 1: v, at first 0.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_ADAM_W_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_ADAM_W_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const AdamWOptions& algorithm,
        const OptimizerKernels& kernels);

  int SlotCount() const override { return 2; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  const double weight_decay_;
  const AdamWOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_ADAM_W_H_
