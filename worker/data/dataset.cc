#include "worker/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"

namespace selari {

void DeduceClassCount(Dataset* dataset) {
  if (dataset->class_count == 0 && !dataset->labels.empty()) {
    dataset->class_count =
        int64_t{1} +
        *std::max_element(dataset->labels.begin(), dataset->labels.end());
  }
}

absl::Status ValidateDataset(const Dataset& dataset) {
  if (dataset.size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset.source, ": holds no sample"));
  }
  SELARI_CHECK(dataset.features != nullptr &&
               dataset.features->size() == dataset.size * dataset.dim);
  if (dataset.dim == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset.source, ": samples have no features"));
  }
  const bool classes = dataset.class_count > 0;
  const std::size_t labels =
      classes ? dataset.labels.size() : dataset.targets.size();
  if (static_cast<int64_t>(labels) != dataset.size) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset.source, ": has ", dataset.size, " samples but ",
                     labels, " labels; do the two files belong together?"));
  }
  for (std::size_t i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] < 0 || dataset.labels[i] >= dataset.class_count) {
      return absl::InvalidArgumentError(absl::StrCat(
          dataset.label_source, ": label of row ", i, " is ", dataset.labels[i],
          ", the job has classes 0 to ", dataset.class_count - 1));
    }
  }
  return absl::OkStatus();
}

uint32_t ChecksumOf(const Dataset& dataset) {
  const auto bytes = [](const auto* data, size_t count) {
    return absl::string_view(reinterpret_cast<const char*>(data),
                             count * sizeof(*data));
  };
  uint32_t crc =
      Crc32c(bytes(dataset.features->data(), dataset.features->size()));
  crc = ExtendCrc32c(crc, bytes(dataset.labels.data(), dataset.labels.size()));
  return ExtendCrc32c(crc,
                      bytes(dataset.targets.data(), dataset.targets.size()));
}

FeatureScaling Standardisation(const Dataset& training) {
  SELARI_CHECK(training.size > 0);
  const std::size_t dim = static_cast<std::size_t>(training.dim);
  const double n = static_cast<double>(training.size);
  std::vector<double> mean(dim, 0.0);
  for (int64_t i = 0; i < training.size; ++i) {
    const float* const row = training.row(i);
    for (std::size_t j = 0; j < dim; ++j) {
      mean[j] += row[j];
    }
  }
  for (double& sum : mean) {
    sum /= n;
  }
  std::vector<double> variance(dim, 0.0);
  for (int64_t i = 0; i < training.size; ++i) {
    const float* const row = training.row(i);
    for (std::size_t j = 0; j < dim; ++j) {
      const double distance = row[j] - mean[j];
      variance[j] += distance * distance;
    }
  }
  FeatureScaling scaling;
  for (std::size_t j = 0; j < dim; ++j) {
    const double deviation = std::sqrt(variance[j] / n);
    scaling.shift.push_back(static_cast<float>(mean[j]));
    scaling.scale.push_back(deviation > 0 ? static_cast<float>(1.0 / deviation)
                                          : 1.0f);
  }
  return scaling;
}

absl::Status ScaleFeatures(const FeatureScaling& scaling, Dataset* dataset) {
  const int64_t scales = static_cast<int64_t>(scaling.scale.size());
  SELARI_CHECK(scaling.shift.size() == scaling.scale.size());
  if (scales != 1 && scales != dataset->dim) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset->source, ": samples have ", dataset->dim,
                     " features, the scaling has ", scales));
  }
  for (int64_t i = 0; i < dataset->size; ++i) {
    float* const row = dataset->features->data() + i * dataset->dim;
    for (int64_t j = 0; j < dataset->dim; ++j) {
      const std::size_t k = static_cast<std::size_t>(scales == 1 ? 0 : j);
      row[j] = (row[j] - scaling.shift[k]) * scaling.scale[k];
      if (!std::isfinite(row[j])) {
        return absl::InvalidArgumentError(
            absl::StrCat(dataset->source, ": row ", i, ", column ", j,
                         " is not finite after scaling by ", scaling.scale[k]));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace selari
