// SGD with momentum: heavy ball (Polyak, 1964) or Nesterov's look-ahead in the
// form of Sutskever et al., 2013.
//   v' = momentum * v + g
//   w' = w - learning_rate * v'                    heavy ball
//   w' = w - learning_rate * (g + momentum * v')   Nesterov
// As PyTorch's SGD with dampening 0: the learning rate is outside v, so a
// change of rate acts at once on the whole velocity.
// Slot 0: v, at first 0.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_MOMENTUM_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_MOMENTUM_H_

#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class Momentum final : public Optimizer {
 public:
  Momentum(const OptimizerOptions& options, const SgdOptions& algorithm,
           const OptimizerKernels& kernels);

  int SlotCount() const override { return 1; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  const SgdOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_MOMENTUM_H_
