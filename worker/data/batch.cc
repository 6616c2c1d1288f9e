#include "worker/data/batch.h"

#include <cstddef>
#include <cstring>

#include "common/check.h"

namespace selari {

void GatherSamples(const Dataset& dataset, LeafBatch* batch) {
  batch->size = static_cast<int64_t>(batch->samples.size());
  const int64_t floats = batch->size * dataset.dim;
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

void GatherStep(const Dataset& dataset, const Sampler& sampler, int64_t step,
                absl::Span<const int64_t> leaves, StepBatch* batch) {
  batch->step = step;
  batch->global_size = sampler.BatchSize(step);
  batch->leaves.resize(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    LeafBatch* const leaf = &batch->leaves[i];
    leaf->leaf = leaves[i];
    sampler.LeafSamples(step, leaf->leaf, &leaf->samples);
    GatherSamples(dataset, leaf);
  }
}

}  // namespace selari
