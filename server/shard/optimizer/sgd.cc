#include "server/shard/optimizer/sgd.h"

namespace selari {

Sgd::Sgd(const OptimizerOptions& options, const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kCoupled, Scaling::kNone, kernels) {}

void Sgd::ApplyUpdate(const ApplyContext& context,
                      const GradientTerms& gradient,
                      const UpdateArrays& arrays) const {
  SgdTerms terms;
  terms.gradient = gradient;
  terms.learning_rate = static_cast<float>(context.learning_rate);
  kernels().sgd(terms, arrays);
}

}  // namespace selari
