// The samples of one step, gathered for the leaves that one worker computes.

#ifndef SELARI_WORKER_DATA_BATCH_H_
#define SELARI_WORKER_DATA_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "worker/data/dataset.h"
#include "worker/data/sampler.h"

namespace selari {

// One leaf's samples, in the sampler's order. Memory is reused from step to
// step, so buffers may be larger than `size` says.
struct LeafBatch {
  int64_t leaf = 0;
  // Samples, possibly 0.
  int64_t size = 0;
  // Their numbers in the dataset.
  std::vector<int64_t> samples;
  // (size, dim) of row-major features at the start of the buffer.
  std::shared_ptr<FloatBuffer> features;
  // Either labels or targets has `size` elements, as in the dataset.
  std::vector<int32_t> labels;
  std::vector<float> targets;
};

// What one worker computes in one step.
struct StepBatch {
  int64_t step = 0;
  // Samples of the whole global batch, over all workers.
  int64_t global_size = 0;
  std::vector<LeafBatch> leaves;
};

// Copies the rows `batch->samples` of `dataset` into `batch`, whose other
// fields but `leaf` it sets. Allocates only when a leaf grows.
// REQUIRES: every sample is in [0, dataset.size).
void GatherSamples(const Dataset& dataset, LeafBatch* batch);

// Fills `batch` for `step` with the given leaves, ascending.
void GatherStep(const Dataset& dataset, const Sampler& sampler, int64_t step,
                absl::Span<const int64_t> leaves, StepBatch* batch);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_BATCH_H_
