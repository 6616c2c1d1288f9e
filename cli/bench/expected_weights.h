// ExpectedWeights: what the weights of a bench job must be after some steps,
// worked out from the gradients alone, to compare with what came over a wire.
//
// Nothing is kept: each check takes all steps again, a few kilobytes at a time
// that stay in the first cache, so that it costs no memory beside what is
// measured. `version` steps cost about `version` passes over the model.
//
// Thread safety: const methods from any thread.

#ifndef SELARI_CLI_BENCH_EXPECTED_WEIGHTS_H_
#define SELARI_CLI_BENCH_EXPECTED_WEIGHTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/bench/wire_job.h"
#include "server/shard/shard_job.h"

namespace selari {

class ExpectedWeights {
 public:
  // REQUIRES: `job` is MakeWireJob(shape).
  ExpectedWeights(const WireShape& shape, std::shared_ptr<const ShardJob> job)
      : shape_(shape), job_(std::move(job)) {}

  // Compares bits of elements [first, first + got.size()) of the model with
  // those after `version` steps. DATA_LOSS names the first element that
  // differs and both values. Uses all cores.
  absl::Status Check(absl::Span<const float> got, int64_t first,
                     int64_t version) const;

 private:
  absl::Status CheckPart(absl::Span<const float> got, int64_t first,
                         int64_t version) const;

  const WireShape shape_;
  const std::shared_ptr<const ShardJob> job_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_EXPECTED_WEIGHTS_H_
