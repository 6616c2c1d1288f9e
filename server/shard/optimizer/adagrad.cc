#include "server/shard/optimizer/adagrad.h"

namespace selari {

Adagrad::Adagrad(const OptimizerOptions& options,
                 const AdagradOptions& algorithm,
                 const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kCoupled, Scaling::kNone, kernels),
      algorithm_(algorithm) {}

float Adagrad::InitialSlotValue(int) const {
  return static_cast<float>(algorithm_.initial_accumulator);
}

void Adagrad::ApplyUpdate(const ApplyContext& context,
                          const GradientTerms& gradient,
                          const UpdateArrays& arrays) const {
  AdagradTerms terms;
  terms.gradient = gradient;
  terms.learning_rate = static_cast<float>(context.learning_rate);
  terms.epsilon = static_cast<float>(algorithm_.epsilon);
  kernels().adagrad(terms, arrays);
}

}  // namespace selari
