#include "server/shard/optimizer/lamb.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/shard/optimizer/moments.h"

namespace selari {
namespace {

double TrustRatio(double weight_sum, double direction_sum) {
  if (weight_sum == 0 || direction_sum == 0) {
    return 1;
  }
  return std::sqrt(weight_sum) / std::sqrt(direction_sum);
}

}  // namespace

Lamb::Lamb(const OptimizerOptions& options, const LambOptions& algorithm,
           const OptimizerKernels& kernels)
    : Optimizer(options, Decay::kDecoupled, Scaling::kPerTensor, kernels),
      weight_decay_(options.weight_decay),
      algorithm_(algorithm) {}

void Lamb::ApplyUpdate(const ApplyContext& context,
                       const GradientTerms& gradient,
                       const UpdateArrays& arrays) const {
  const double step_size =
      context.learning_rate * TrustRatio(context.totals[0], context.totals[1]);
  LambTerms terms = TermsOf(context, gradient);
  // A direction of denormals has a ratio past the range of a float.
  terms.step_size = static_cast<float>(std::min(
      step_size, static_cast<double>(std::numeric_limits<float>::max())));
  kernels().lamb(terms, arrays);
}

void Lamb::TensorSums(const ApplyContext& context,
                      const GradientTerms& gradient, const UpdateArrays& arrays,
                      absl::Span<double> sums) const {
  kernels().lamb_sums(TermsOf(context, gradient), arrays, sums.data());
}

LambTerms Lamb::TermsOf(const ApplyContext& context,
                        const GradientTerms& gradient) const {
  const double decay = context.skip_weight_decay ? 0 : weight_decay_;
  LambTerms terms;
  terms.gradient = gradient;
  terms.moments = MakeMomentTerms(algorithm_.beta1, algorithm_.beta2);
  terms.epsilon = static_cast<float>(algorithm_.epsilon);
  terms.mean_correction =
      static_cast<float>(MeanCorrection(algorithm_.beta1, context.step));
  terms.root_correction =
      static_cast<float>(RootCorrection(algorithm_.beta2, context.step));
  terms.decoupled_decay = static_cast<float>(decay);
  terms.step_size = 0;
  return terms;
}

}  // namespace selari
