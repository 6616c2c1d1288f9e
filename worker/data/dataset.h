// Dataset: all samples of one split in memory, features as floats and one
// label or target per sample; and the scaling of its features.
//
// A plain value, never changed once training starts, so any number of threads
// may read it.

#ifndef SELARI_WORKER_DATA_DATASET_H_
#define SELARI_WORKER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/float_buffer.h"

namespace selari {

struct Dataset {
  // For messages: the files that features and labels come from, one for both
  // when they share it.
  std::string source;
  std::string label_source;
  // Samples, >= 0.
  int64_t size = 0;
  // Shape of one sample, without the sample dimension; each >= 1. An image is
  // (height, width) or (height, width, channels).
  std::vector<int64_t> feature_shape;
  // Names of the features in order; empty when the file has none.
  std::vector<std::string> feature_names;
  // Product of feature_shape.
  int64_t dim = 0;
  // (size, dim), row-major. shared_ptr because batches may outlive the
  // Dataset that lent them; nobody writes it once loaded.
  std::shared_ptr<FloatBuffer> features;
  // Class numbers of the samples; empty for a regression.
  std::vector<int32_t> labels;
  // Target values of the samples; empty for a classification.
  std::vector<float> targets;
  // Classes, labels lie in [0, class_count); 0 for a regression.
  int64_t class_count = 0;

  // The `dim` features of sample i, 0 <= i < size.
  const float* row(int64_t i) const { return features->data() + i * dim; }
};

// Sets class_count from the largest label, when it is 0 and there are labels.
void DeduceClassCount(Dataset* dataset);

// Checks what training relies on: sizes agree, every label lies in
// [0, class_count). INVALID_ARGUMENT naming file, row and numbers.
absl::Status ValidateDataset(const Dataset& dataset);

// CRC-32C of its features, labels and targets, in this order, little-endian:
// equal on two machines that see the same samples.
uint32_t ChecksumOf(const Dataset& dataset);

// x becomes (x - shift) * scale, feature by feature.
struct FeatureScaling {
  // One value for all features, or one per feature.
  std::vector<float> shift;
  // Same size as shift.
  std::vector<float> scale;
};

// Shift and scale that give every feature of `training` mean 0 and variance 1
// (divided by n, sums in double in sample order). A constant feature gets
// scale 1, so it becomes 0 instead of NaN.
// REQUIRES: training.size > 0.
FeatureScaling Standardisation(const Dataset& training);

// Applies it in place, before the dataset is shared.
// INVALID_ARGUMENT when the sizes do not fit, or a result is not finite
// (names row and column).
absl::Status ScaleFeatures(const FeatureScaling& scaling, Dataset* dataset);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_DATASET_H_
