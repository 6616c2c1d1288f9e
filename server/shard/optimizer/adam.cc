#include "server/shard/optimizer/adam.h"

#include "server/shard/optimizer/moments.h"

namespace selari {

Adam::Adam(const OptimizerOptions& options, const AdamOptions& algorithm,
           const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kCoupled, Scaling::kNone, kernels),
      algorithm_(algorithm) {}

void Adam::ApplyUpdate(const ApplyContext& context,
                       const GradientTerms& gradient,
                       const UpdateArrays& arrays) const {
  AdamTerms terms;
  terms.gradient = gradient;
  terms.moments = MakeMomentTerms(algorithm_.beta1, algorithm_.beta2);
  terms.epsilon = static_cast<float>(algorithm_.epsilon);
  terms.step_size = static_cast<float>(
      context.learning_rate * MeanCorrection(algorithm_.beta1, context.step));
  terms.root_correction =
      static_cast<float>(RootCorrection(algorithm_.beta2, context.step));
  terms.decay_rate = 0;
  kernels().adam(terms, arrays);
}

}  // namespace selari
