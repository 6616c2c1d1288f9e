// Adagrad (Duchi et al., 2011).
//   s' = s + g^2
//   w' = w - learning_rate * g / (sqrt(s') + epsilon)
// As PyTorch's Adagrad with lr_decay 0 (use a schedule for that). TensorFlow
// starts s at 0.1 and puts epsilon under the root.
// Slot 0: s, at first initial_accumulator.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_ADAGRAD_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_ADAGRAD_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class Adagrad final : public Optimizer {
 public:
  Adagrad(const OptimizerOptions& options, const AdagradOptions& algorithm,
          const OptimizerKernels& kernels);

  int SlotCount() const override { return 1; }
  float InitialSlotValue(int slot) const override;

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  const AdagradOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_ADAGRAD_H_
