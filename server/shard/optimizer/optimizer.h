// An optimizer: how one chunk of weights and its state become the next version
// when a reduced gradient arrives.
//
// Pure: no clock, I/O, randomness or state of its own; what it keeps for each
// weight lives in slots that the shard owns. So one Optimizer serves all
// chunks and threads. Weights, gradients and slots are treated element by
// element, so the bits depend neither on how a tensor is cut (a chunk may be
// applied in parts, e.g. block by block right after its contributions were
// summed), nor on alignment, thread or instruction-set level.
//
// One update of a model:
//
//   ApplyContext context;
//   context.step = version + 1;
//   context.learning_rate = learning_rate.At(context.step);
//   for (int r = 0; r < optimizer.RoundCount(); ++r) {
//     for each chunk: optimizer.PartialSums(r, context_of_chunk, arrays, sums);
//     CombinePartials(optimizer.Round(r), ...);    // by whoever sees them all
//     for each chunk: append its ChunkTotals to its context's totals;
//   }
//   for each chunk: optimizer.Apply(context_of_chunk, arrays);
//
// Most optimizers have no rounds: clip_global_norm adds one (first), LAMB one
// (last). Between PartialSums and Apply of a step nothing may change.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/reduction_round.h"
#include "kernels/optimizer/optimizer_kernels.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

// What an update of one chunk depends on, apart from its arrays.
struct ApplyContext {
  // Number of this update of the chunk, from 1: the version it makes.
  int64_t step = 1;
  // Of this step, >= 0.
  double learning_rate = 0;
  // True for a tensor that is left out of weight decay (biases, gains).
  bool skip_weight_decay = false;
  // The totals of the chunk's group, round after round; in Apply all of them:
  // the sum of Round(r).sum_count over all rounds. Empty without rounds.
  absl::Span<const double> totals;
};

// Thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Floats of state for each weight, in [0, kSlotCountMax].
  virtual int SlotCount() const = 0;

  // What each float of slot `slot`, in [0, SlotCount()), starts with.
  virtual float InitialSlotValue(int slot) const;

  // Rounds of sums over the model that Apply needs, and each of them.
  int RoundCount() const { return static_cast<int>(rounds_.size()); }
  const ReductionRound& Round(int round) const { return rounds_[round]; }

  // Writes the partial sums of one chunk, all of it, to `sums`
  // (Round(round).sum_count). Reads `arrays` (not next_weights) and, of
  // `context`, the totals of the rounds before `round`; changes nothing else.
  void PartialSums(int round, const ApplyContext& context,
                   const UpdateArrays& arrays, absl::Span<double> sums) const;

  // Writes the next version of a chunk, or of a part of one, to
  // arrays.next_weights and overwrites its first SlotCount() slots.
  // REQUIRES: step >= 1; totals of all rounds; next_weights and slots overlap
  // nothing else. A gradient that is not finite gives weights that are not
  // finite: refuse it on admission (OptimizerKernels::all_finite).
  void Apply(const ApplyContext& context, const UpdateArrays& arrays) const;

 protected:
  // How weight decay enters the update.
  enum class Decay {
    kCoupled,    // as an L2 term of the gradient
    kDecoupled,  // by the algorithm itself
  };
  // Whether the update is scaled for each tensor, which needs a round.
  enum class Scaling { kNone, kPerTensor };

  // `kernels` is borrowed for ever.
  Optimizer(const OptimizerOptions& options, Decay decay, Scaling scaling,
            const OptimizerKernels& kernels);

  const OptimizerKernels& kernels() const { return kernels_; }

  // The algorithm itself. With Scaling::kPerTensor `context.totals` are the
  // sums of w^2 and of u^2 of the chunk's tensor, otherwise they are not used.
  virtual void ApplyUpdate(const ApplyContext& context,
                           const GradientTerms& gradient,
                           const UpdateArrays& arrays) const = 0;

  // The sums of w^2 and of u^2 of a chunk, with Scaling::kPerTensor; the
  // default is for the others, and never called.
  virtual void TensorSums(const ApplyContext& context,
                          const GradientTerms& gradient,
                          const UpdateArrays& arrays,
                          absl::Span<double> sums) const;

 private:
  bool ClipsGlobalNorm() const { return clip_global_norm_ > 0; }
  GradientTerms TermsOf(const ApplyContext& context) const;
  ApplyContext WithoutClipTotal(const ApplyContext& context) const;

  // Constant after construction.
  const float clip_value_;         // infinity: not cut
  const double clip_global_norm_;  // 0: not scaled
  const float coupled_decay_;
  const OptimizerKernels& kernels_;
  const std::vector<ReductionRound> rounds_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_H_
