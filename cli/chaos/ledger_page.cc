#include "cli/chaos/ledger_page.h"

#include <cmath>
#include <cstddef>

#include "common/check.h"

namespace selari {

int64_t RoundsIn(const LedgerPage& page, int32_t worker,
                 absl::Span<const float> values) {
  SELARI_CHECK(static_cast<int64_t>(values.size()) == page.size());
  double sum = 0;
  for (int64_t cell = worker; cell < page.size(); cell += page.workers) {
    sum += static_cast<double>(values[static_cast<size_t>(cell)]);
  }
  return std::llround(sum);
}

LedgerDifference CompareRounds(const LedgerPage& page, int32_t worker,
                               int64_t rounds, absl::Span<const float> values) {
  SELARI_CHECK(static_cast<int64_t>(values.size()) == page.size());
  LedgerDifference difference;
  for (int64_t cell = worker; cell < page.size(); cell += page.workers) {
    const int64_t more =
        std::llround(static_cast<double>(values[static_cast<size_t>(cell)])) -
        page.Expected(cell, rounds);
    (more < 0 ? difference.lost : difference.doubled) += std::abs(more);
  }
  return difference;
}

}  // namespace selari
