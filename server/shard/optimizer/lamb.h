// LAMB (You et al., 2020, algorithm 2, with phi(z) = z).
//   m' = beta1 * m + (1 - beta1) * g
//   v' = beta2 * v + (1 - beta2) * g^2
//   u  = (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + epsilon)
//        + weight_decay * w
//   w' = w - learning_rate * ratio * u,   ratio = |w| / |u| for each tensor
// with t the number of the update, from 1. The ratio is 1 where either norm is
// 0, as when a tensor starts at zero.
// One round: the sums of w^2 and of u^2 for each tensor.
// Slot 0: m, slot 1: v, at first 0.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_LAMB_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_LAMB_H_

#include "absl/types/span.h"
#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

class Lamb final : public Optimizer {
 public:
  Lamb(const OptimizerOptions& options, const LambOptions& algorithm,
       const OptimizerKernels& kernels);

  int SlotCount() const override { return 2; }

 private:
  void ApplyUpdate(const ApplyContext& context, const GradientTerms& gradient,
                   const UpdateArrays& arrays) const override;
  void TensorSums(const ApplyContext& context, const GradientTerms& gradient,
                  const UpdateArrays& arrays,
                  absl::Span<double> sums) const override;
  LambTerms TermsOf(const ApplyContext& context,
                    const GradientTerms& gradient) const;

  const double weight_decay_;
  const LambOptions algorithm_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_LAMB_H_
