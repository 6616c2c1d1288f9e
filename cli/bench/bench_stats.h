// What is said of repeated measurements.
//
// Pure functions: safe from any thread.

#ifndef SELARI_CLI_BENCH_BENCH_STATS_H_
#define SELARI_CLI_BENCH_BENCH_STATS_H_

#include <vector>

namespace selari {

// The middle of some samples, and how far they lie apart. An even number of
// samples has the mean of the two in the middle as its median.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// REQUIRES: !samples.empty().
Spread SpreadOf(std::vector<double> samples);

// The smallest sample that at least `percent` of all are not above (the
// nearest rank). REQUIRES: !samples.empty(), percent in (0, 100].
double PercentileOf(std::vector<double> samples, double percent);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_BENCH_STATS_H_
