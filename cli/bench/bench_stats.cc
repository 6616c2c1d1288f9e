#include "cli/bench/bench_stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/check.h"

namespace selari {

Spread SpreadOf(std::vector<double> samples) {
  SELARI_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  Spread spread;
  spread.median = samples.size() % 2 == 1
                      ? samples[half]
                      : (samples[half - 1] + samples[half]) / 2;
  spread.min = samples.front();
  spread.max = samples.back();
  return spread;
}

double PercentileOf(std::vector<double> samples, double percent) {
  SELARI_CHECK(!samples.empty() && percent > 0 && percent <= 100);
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto rank = static_cast<std::size_t>(std::ceil(count * percent / 100));
  return samples[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace selari
