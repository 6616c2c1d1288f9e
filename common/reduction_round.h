// Sums over the whole model that an update needs before it can be applied
// (the norm of the gradient, LAMB's norms of each tensor), although the model
// is cut in chunks that live on many servers.
//
// An optimizer asks for rounds, taken in order. In one round
//   1. each chunk gives `sum_count` doubles, its partial sums;
//   2. whoever sees all chunks adds them with CombinePartials: in chunk
//      order, so that the totals are equal to the bit wherever this is done;
//   3. each chunk gets back the totals of its group: with scope kGlobal all
//      chunks are one group, with kPerTensor those of one tensor are.
//
//   std::vector<double> totals =
//       CombinePartials(round, chunk_tensors, tensor_count, partials);
//   absl::Span<const double> of_chunk =
//       ChunkTotals(round, chunk_tensors[chunk], totals);
//
// Pure functions and plain values: safe from any thread.

#ifndef SELARI_COMMON_REDUCTION_ROUND_H_
#define SELARI_COMMON_REDUCTION_ROUND_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace selari {

// Which chunks are added together.
enum class ReductionScope {
  kGlobal,     // all chunks of the model
  kPerTensor,  // all chunks of one tensor
};

struct ReductionRound {
  ReductionScope scope = ReductionScope::kGlobal;
  // Doubles that each chunk gives, >= 1.
  int sum_count = 1;
};

inline bool operator==(const ReductionRound& a, const ReductionRound& b) {
  return a.scope == b.scope && a.sum_count == b.sum_count;
}

// Why an update needs sums over the whole model.
struct ReductionNeeds {
  // The gradient is clipped by its global norm: first, one round of the sum
  // of its squares over all chunks.
  bool clips_global_norm = false;
  // The update of each tensor is scaled by |w| / |u| (LAMB): last, one round
  // of the sums of w^2 and of u^2 for each tensor.
  bool scales_by_tensor = false;
};

// The rounds of each update, in order; none without needs.
std::vector<ReductionRound> ReductionRounds(const ReductionNeeds& needs);

// Number of groups: 1, or one for each tensor.
int ReductionGroupCount(const ReductionRound& round, int tensor_count);

// Adds the partial sums of all chunks, in chunk order.
//   chunk_tensors: (chunks), the tensor index of each chunk, in
//                  [0, tensor_count), in the global order of chunks.
//   partials:      (chunks, sum_count), chunk after chunk.
// Returns (ReductionGroupCount, sum_count), group after group. A tensor
// without chunks has totals of 0.
// REQUIRES: the sizes agree and each tensor index is in range.
std::vector<double> CombinePartials(const ReductionRound& round,
                                    absl::Span<const int32_t> chunk_tensors,
                                    int tensor_count,
                                    absl::Span<const double> partials);

// The (sum_count) totals that a chunk of tensor `tensor_index` is given: a
// view into `totals`, which must outlive it.
// REQUIRES: `totals` is what CombinePartials returned for `round`.
absl::Span<const double> ChunkTotals(const ReductionRound& round,
                                     int tensor_index,
                                     absl::Span<const double> totals);

}  // namespace selari

#endif  // SELARI_COMMON_REDUCTION_ROUND_H_
