#include "server/shard/optimizer/adam_w.h"

#include "server/shard/optimizer/moments.h"

namespace selari {

AdamW::AdamW(const OptimizerOptions& options, const AdamWOptions& algorithm,
             const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kDecoupled, Scaling::kNone, kernels),
      weight_decay_(options.weight_decay),
      algorithm_(algorithm) {}

void AdamW::ApplyUpdate(const ApplyContext& context,
                        const GradientTerms& gradient,
                        const UpdateArrays& arrays) const {
  const double decay = context.skip_weight_decay ? 0 : weight_decay_;
  AdamTerms terms;
  terms.gradient = gradient;
  terms.moments = MakeMomentTerms(algorithm_.beta1, algorithm_.beta2);
  terms.epsilon = static_cast<float>(algorithm_.epsilon);
  terms.step_size = static_cast<float>(
      context.learning_rate * MeanCorrection(algorithm_.beta1, context.step));
  terms.root_correction =
      static_cast<float>(RootCorrection(algorithm_.beta2, context.step));
  terms.decay_rate = static_cast<float>(context.learning_rate * decay);
  kernels().adam(terms, arrays);
}

}  // namespace selari
