// The samples of one step that one worker computes: those of its leaves, one
// leaf after another, so that a layer may treat all rows in one pass while
// the gradient of each leaf stays a range of rows.

#ifndef SELARI_WORKER_DATA_BATCH_H_
#define SELARI_WORKER_DATA_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "worker/data/dataset.h"
#include "worker/data/sampler.h"

namespace selari {

// Memory is reused from step to step, so the feature buffer may be larger
// than the rows need.
struct StepBatch {
  int64_t step = 0;
  // Samples of the whole global batch, over all workers.
  int64_t global_size = 0;
  // Numbers of the leaves, ascending, among all leaves of the global batch.
  std::vector<int64_t> leaves;
  // The k-th leaf here owns rows [leaf_begin[k], leaf_begin[k + 1]), possibly
  // none. One element more than `leaves`.
  std::vector<int64_t> leaf_begin = {0};
  // Place of each leaf's first row in the global batch.
  std::vector<int64_t> first_sample;
  // Number in the dataset of each row's sample.
  std::vector<int64_t> samples;
  // (rows, dim) at the start of the buffer, row-major.
  std::shared_ptr<FloatBuffer> features;
  // Either labels or targets has one element a row, as in the dataset.
  std::vector<int32_t> labels;
  std::vector<float> targets;

  int64_t rows() const { return leaf_begin.back(); }
};

// Fills `batch` for `step` with the given leaves, ascending. Allocates only
// when the batch grows.
// REQUIRES: the sampler's sample_count is dataset.size.
void GatherStep(const Dataset& dataset, const Sampler& sampler, int64_t step,
                absl::Span<const int64_t> leaves, StepBatch* batch);

// Fills `batch` with samples [begin, end) in the dataset's order, as one leaf
// of a batch of their own; for evaluation.
// REQUIRES: 0 <= begin <= end <= dataset.size.
void GatherRange(const Dataset& dataset, int64_t begin, int64_t end,
                 StepBatch* batch);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_BATCH_H_
