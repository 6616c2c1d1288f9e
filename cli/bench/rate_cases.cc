#include "cli/bench/rate_cases.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "common/float_buffer.h"
#include "common/isa.h"
#include "common/status.h"
#include "kernels/peak_flops.h"

namespace selari {
namespace {

using Samples = std::vector<std::vector<double>>;  // by case, then round

RateResult ResultOf(const RateCase& rate_case, const std::vector<double>& rates,
                    const std::vector<double>& limit) {
  std::vector<double> ratios;
  for (size_t round = 0; round < rates.size(); ++round) {
    ratios.push_back(rates[round] / limit[round]);
  }
  RateResult result;
  result.name = rate_case.name;
  result.unit = rate_case.unit;
  result.rate = SpreadOf(rates);
  result.ratio = SpreadOf(std::move(ratios));
  result.ratio.median = result.rate.median / SpreadOf(limit).median;
  return result;
}

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

absl::StatusOr<double> MeasureRate(double units_per_call, double seconds,
                                   const std::function<absl::Status()>& work) {
  SELARI_RETURN_IF_ERROR(work());
  const double begin = ThreadSeconds();
  double taken = 0;
  int64_t calls = 0;
  // Short work is not asked for the time after each call.
  for (int64_t batch = 1; taken < seconds; batch *= 2) {
    for (int64_t i = 0; i < batch; ++i) {
      SELARI_RETURN_IF_ERROR(work());
    }
    calls += batch;
    taken = ThreadSeconds() - begin;
  }
  return units_per_call * static_cast<double>(calls) / taken;
}

absl::Status MeasureInTurns(const std::vector<RateCase>& limits,
                            const std::vector<RateCase>& cases, int repeats,
                            RateReport* report) {
  std::vector<const RateCase*> all;
  for (const std::vector<RateCase>* part : {&limits, &cases}) {
    for (const RateCase& rate_case : *part) {
      all.push_back(&rate_case);
    }
  }
  Samples samples(all.size());
  for (int round = 0; round <= repeats; ++round) {
    for (size_t turn = 0; turn < all.size(); ++turn) {
      const size_t i = (turn + static_cast<size_t>(round)) % all.size();
      SELARI_ASSIGN_OR_RETURN(const double rate, all[i]->measure());
      if (round > 0) {
        samples[i].push_back(rate);
      }
    }
  }
  report->repeats = repeats;
  for (size_t i = 0; i < all.size(); ++i) {
    size_t limit = 0;
    while (limits[limit].unit != all[i]->unit) {
      ++limit;
    }
    (i < limits.size() ? report->limits : report->results)
        .push_back(ResultOf(*all[i], samples[i], samples[limit]));
  }
  return absl::OkStatus();
}

RateCase MemcpyLimit(int64_t bytes, int counted_times) {
  const int64_t floats = bytes / int64_t{sizeof(float)};
  const auto from = FloatBuffer::Allocate(floats);
  const auto to = FloatBuffer::Allocate(floats);
  std::fill_n(from->data(), floats, 1.0f);
  RateCase limit;
  limit.name = "memcpy";
  limit.unit = RateUnit::kBytes;
  limit.measure = [from, to, counted_times] {
    const auto size = static_cast<size_t>(from->size_bytes());
    return MeasureRate(static_cast<double>(size) * counted_times,
                       kMeasureSeconds, [&] {
                         std::memcpy(to->data(), from->data(), size);
                         // Nobody reads the copy: it shall be made all the
                         // same.
                         asm volatile("" : : "r"(to->data()) : "memory");
                         return absl::OkStatus();
                       });
  };
  return limit;
}

RateCase MultiplyAddLimit() {
  RateCase limit;
  limit.name = "multiply_add";
  limit.unit = RateUnit::kFlops;
  limit.measure = [] {
    constexpr int64_t kRounds = 100'000;
    const PeakFlops peak = PeakFlopsFor(DetectIsaLevel());
    volatile float result = 0;
    return MeasureRate(static_cast<double>(peak.flops_per_round * kRounds),
                       kMeasureSeconds, [&] {
                         result = peak.run(kRounds);
                         return absl::OkStatus();
                       });
  };
  return limit;
}

}  // namespace selari
