#include "server/shard/optimizer/momentum.h"

namespace selari {

Momentum::Momentum(const OptimizerOptions& options, const SgdOptions& algorithm,
                   const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kCoupled, Scaling::kNone, kernels),
      algorithm_(algorithm) {}

void Momentum::ApplyUpdate(const ApplyContext& context,
                           const GradientTerms& gradient,
                           const UpdateArrays& arrays) const {
  MomentumTerms terms;
  terms.gradient = gradient;
  terms.learning_rate = static_cast<float>(context.learning_rate);
  terms.momentum = static_cast<float>(algorithm_.momentum);
  if (algorithm_.nesterov) {
    kernels().nesterov(terms, arrays);
  } else {
    kernels().heavy_ball(terms, arrays);
  }
}

}  // namespace selari
