#include "server/shard/optimizer/optimizer.h"

#include <limits>

#include "common/check.h"
#include "common/global_norm.h"

namespace selari {

Optimizer::Optimizer(const OptimizerOptions& options, Decay decay,
                     Scaling scaling, const OptimizerKernels& kernels)
    : clip_value_(options.clip_value > 0
                      ? static_cast<float>(options.clip_value)
                      : std::numeric_limits<float>::infinity()),
      clip_global_norm_(options.clip_global_norm),
      coupled_decay_(decay == Decay::kCoupled
                         ? static_cast<float>(options.weight_decay)
                         : 0),
      kernels_(kernels),
      rounds_(ReductionRounds(
          {options.clip_global_norm > 0, scaling == Scaling::kPerTensor})) {}

float Optimizer::InitialSlotValue(int) const { return 0; }

void Optimizer::PartialSums(int round, const ApplyContext& context,
                            const UpdateArrays& arrays,
                            absl::Span<double> sums) const {
  SELARI_CHECK(0 <= round && round < RoundCount());
  SELARI_CHECK(context.step >= 1);
  SELARI_CHECK(sums.size() == static_cast<size_t>(Round(round).sum_count));
  if (ClipsGlobalNorm() && round == 0) {
    sums[0] = kernels_.sum_of_squares(clip_value_, arrays.grad, arrays.n);
    return;
  }
  TensorSums(WithoutClipTotal(context), TermsOf(context), arrays, sums);
}

void Optimizer::Apply(const ApplyContext& context,
                      const UpdateArrays& arrays) const {
  SELARI_CHECK(context.step >= 1);
  size_t totals_expected = 0;
  for (const ReductionRound& round : rounds_) {
    totals_expected += round.sum_count;
  }
  SELARI_CHECK(context.totals.size() == totals_expected);
  ApplyUpdate(WithoutClipTotal(context), TermsOf(context), arrays);
}

void Optimizer::TensorSums(const ApplyContext&, const GradientTerms&,
                           const UpdateArrays&, absl::Span<double>) const {
  SELARI_CHECK(false && "Scaling::kPerTensor needs TensorSums");
}

GradientTerms Optimizer::TermsOf(const ApplyContext& context) const {
  GradientTerms terms;
  terms.clip_value = clip_value_;
  terms.scale = 1;
  if (ClipsGlobalNorm()) {
    SELARI_CHECK(!context.totals.empty());
    terms.scale = static_cast<float>(
        GlobalNormScale(context.totals[0], clip_global_norm_));
  }
  terms.coupled_decay = context.skip_weight_decay ? 0 : coupled_decay_;
  return terms;
}

ApplyContext Optimizer::WithoutClipTotal(const ApplyContext& context) const {
  ApplyContext own = context;
  own.totals.remove_prefix(ClipsGlobalNorm() ? 1 : 0);
  return own;
}

}  // namespace selari
