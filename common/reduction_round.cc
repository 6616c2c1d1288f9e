#include "common/reduction_round.h"

#include <cstddef>

#include "common/check.h"

namespace selari {
namespace {

int GroupOf(const ReductionRound& round, int tensor_index) {
  return round.scope == ReductionScope::kGlobal ? 0 : tensor_index;
}

}  // namespace

std::vector<ReductionRound> ReductionRounds(const ReductionNeeds& needs) {
  std::vector<ReductionRound> rounds;
  if (needs.clips_global_norm) {
    rounds.push_back({ReductionScope::kGlobal, 1});
  }
  if (needs.scales_by_tensor) {
    rounds.push_back({ReductionScope::kPerTensor, 2});
  }
  return rounds;
}

int ReductionGroupCount(const ReductionRound& round, int tensor_count) {
  return round.scope == ReductionScope::kGlobal ? 1 : tensor_count;
}

std::vector<double> CombinePartials(const ReductionRound& round,
                                    absl::Span<const int32_t> chunk_tensors,
                                    int tensor_count,
                                    absl::Span<const double> partials) {
  const size_t sum_count = static_cast<size_t>(round.sum_count);
  SELARI_CHECK(partials.size() == chunk_tensors.size() * sum_count);
  std::vector<double> totals(
      ReductionGroupCount(round, tensor_count) * sum_count, 0.0);
  for (size_t chunk = 0; chunk < chunk_tensors.size(); ++chunk) {
    const int tensor_index = chunk_tensors[chunk];
    SELARI_CHECK(0 <= tensor_index && tensor_index < tensor_count);
    double* group = totals.data() + GroupOf(round, tensor_index) * sum_count;
    for (size_t i = 0; i < sum_count; ++i) {
      group[i] += partials[chunk * sum_count + i];
    }
  }
  return totals;
}

absl::Span<const double> ChunkTotals(const ReductionRound& round,
                                     int tensor_index,
                                     absl::Span<const double> totals) {
  const size_t sum_count = static_cast<size_t>(round.sum_count);
  const size_t first = GroupOf(round, tensor_index) * sum_count;
  SELARI_CHECK(tensor_index >= 0 && first + sum_count <= totals.size());
  return totals.subspan(first, sum_count);
}

}  // namespace selari
