#include "worker/data/batch.h"

#include <cstring>
#include <numeric>

#include "common/check.h"

namespace selari {
namespace {

// Copies the rows `batch->samples` of `dataset`.
void GatherSamples(const Dataset& dataset, StepBatch* batch) {
  const int64_t floats =
      static_cast<int64_t>(batch->samples.size()) * dataset.dim;
  if (batch->features == nullptr || batch->features->size() < floats) {
    batch->features = FloatBuffer::Allocate(floats);
  }
  batch->labels.clear();
  batch->targets.clear();
  float* row = batch->features->data();
  for (const int64_t sample : batch->samples) {
    SELARI_CHECK(sample >= 0 && sample < dataset.size);
    std::memcpy(row, dataset.row(sample),
                static_cast<std::size_t>(dataset.dim) * sizeof(float));
    row += dataset.dim;
    const std::size_t i = static_cast<std::size_t>(sample);
    if (dataset.class_count > 0) {
      batch->labels.push_back(dataset.labels[i]);
    } else {
      batch->targets.push_back(dataset.targets[i]);
    }
  }
}

}  // namespace

void GatherStep(const Dataset& dataset, const Sampler& sampler, int64_t step,
                absl::Span<const int64_t> leaves, StepBatch* batch) {
  batch->step = step;
  batch->global_size = sampler.BatchSize(step);
  batch->leaves.assign(leaves.begin(), leaves.end());
  batch->leaf_begin = {0};
  batch->first_sample.clear();
  batch->samples.clear();
  for (const int64_t leaf : leaves) {
    batch->first_sample.push_back(sampler.LeafBegin(step, leaf));
    sampler.AppendLeafSamples(step, leaf, &batch->samples);
    batch->leaf_begin.push_back(static_cast<int64_t>(batch->samples.size()));
  }
  GatherSamples(dataset, batch);
}

void GatherRange(const Dataset& dataset, int64_t begin, int64_t end,
                 StepBatch* batch) {
  SELARI_CHECK(0 <= begin && begin <= end && end <= dataset.size);
  batch->step = 0;
  batch->global_size = end - begin;
  batch->leaves = {0};
  batch->leaf_begin = {0, end - begin};
  batch->first_sample = {0};
  batch->samples.resize(static_cast<std::size_t>(end - begin));
  std::iota(batch->samples.begin(), batch->samples.end(), begin);
  GatherSamples(dataset, batch);
}

}  // namespace selari
