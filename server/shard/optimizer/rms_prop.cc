#include "server/shard/optimizer/rms_prop.h"

namespace selari {

RmsProp::RmsProp(const OptimizerOptions& options,
                 const RmsPropOptions& algorithm,
                 const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kCoupled, Scaling::kNone, kernels),
      algorithm_(algorithm) {}

void RmsProp::ApplyUpdate(const ApplyContext& context,
                          const GradientTerms& gradient,
                          const UpdateArrays& arrays) const {
  RmsPropTerms terms;
  terms.gradient = gradient;
  terms.learning_rate = static_cast<float>(context.learning_rate);
  terms.alpha = static_cast<float>(algorithm_.alpha);
  terms.one_minus_alpha = static_cast<float>(1 - algorithm_.alpha);
  terms.epsilon = static_cast<float>(algorithm_.epsilon);
  terms.momentum = static_cast<float>(algorithm_.momentum);
  if (algorithm_.momentum > 0) {
    kernels().rms_prop_momentum(terms, arrays);
  } else {
    kernels().rms_prop(terms, arrays);
  }
}

}  // namespace selari
