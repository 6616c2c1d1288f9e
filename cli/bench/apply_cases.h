// What `selari bench apply` measures: a shard that takes in gradients, with
// each optimizer.

#ifndef SELARI_CLI_BENCH_APPLY_CASES_H_
#define SELARI_CLI_BENCH_APPLY_CASES_H_

#include <cstdint>
#include <vector>

#include "cli/bench/rate_cases.h"

namespace selari {

// Bytes of gradient per second through one shard on one core: finite check,
// reduction over `workers`, update, publishing. One case for each optimizer,
// over a model of `bytes`.
std::vector<RateCase> ApplyCases(int64_t bytes, int32_t workers);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_APPLY_CASES_H_
