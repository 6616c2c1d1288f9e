#include "worker/data/dataset.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dataset DatasetOf(int64_t dim, const std::vector<float>& features,
                  std::vector<int32_t> labels) {
  Dataset dataset;
  dataset.source = "train";
  dataset.label_source = "train labels";
  dataset.dim = dim;
  dataset.feature_shape = {dim};
  dataset.size = static_cast<int64_t>(features.size()) / dim;
  dataset.features =
      FloatBuffer::Allocate(static_cast<int64_t>(features.size()));
  std::copy(features.begin(), features.end(), dataset.features->data());
  dataset.labels = std::move(labels);
  return dataset;
}

std::vector<float> Features(const Dataset& dataset) {
  return std::vector<float>(
      dataset.features->data(),
      dataset.features->data() + dataset.features->size());
}

TEST(DatasetTest, DeducesTheClassCountOnlyWhenNotGiven) {
  Dataset dataset = DatasetOf(1, {1, 2}, {0, 4});
  DeduceClassCount(&dataset);
  EXPECT_EQ(dataset.class_count, 5);
  dataset.class_count = 7;
  DeduceClassCount(&dataset);
  EXPECT_EQ(dataset.class_count, 7);
}

TEST(DatasetTest, ChecksumTellsSamplesApart) {
  const uint32_t checksum = ChecksumOf(DatasetOf(2, {1, 2, 3, 4}, {0, 1}));
  EXPECT_EQ(checksum, ChecksumOf(DatasetOf(2, {1, 2, 3, 4}, {0, 1})));
  EXPECT_NE(checksum, ChecksumOf(DatasetOf(2, {1, 2, 4, 3}, {0, 1})));
  EXPECT_NE(checksum, ChecksumOf(DatasetOf(2, {1, 2, 3, 4}, {1, 0})));
  Dataset targets = DatasetOf(2, {1, 2, 3, 4}, {});
  targets.targets = {0.5F, 1};
  const uint32_t of_targets = ChecksumOf(targets);
  targets.targets[1] = 2;
  EXPECT_NE(of_targets, ChecksumOf(targets));
}

TEST(DatasetTest, NamesTheRowOfALabelOutOfRange) {
  Dataset dataset = DatasetOf(1, {1, 2, 3}, {0, 1, 2});
  dataset.class_count = 2;
  EXPECT_THAT(
      std::string(ValidateDataset(dataset).message()),
      HasSubstr(
          "train labels: label of row 2 is 2, the job has classes 0 to 1"));
}

TEST(DatasetTest, CountsSamplesAndLabels) {
  Dataset dataset = DatasetOf(1, {1, 2, 3}, {0, 1});
  dataset.class_count = 2;
  EXPECT_THAT(std::string(ValidateDataset(dataset).message()),
              HasSubstr("has 3 samples but 2 labels"));
  EXPECT_FALSE(ValidateDataset(Dataset()).ok());
}

TEST(DatasetTest, StandardisedFeaturesHaveMeanZeroAndVarianceOne) {
  Dataset dataset = DatasetOf(2, {1, 5, 3, 5}, {0, 0});
  const FeatureScaling scaling = Standardisation(dataset);
  ASSERT_TRUE(ScaleFeatures(scaling, &dataset).ok());
  // The second feature is constant.
  EXPECT_THAT(Features(dataset), ElementsAre(-1, 0, 1, 0));
}

TEST(DatasetTest, ScalesAllFeaturesByOneValue) {
  Dataset dataset = DatasetOf(2, {1, 2, 3, 4}, {0, 0});
  ASSERT_TRUE(ScaleFeatures({{1.0f}, {2.0f}}, &dataset).ok());
  EXPECT_THAT(Features(dataset), ElementsAre(0, 2, 4, 6));
}

TEST(DatasetTest, RefusesAScalingThatDoesNotFitOrOverflows) {
  Dataset dataset = DatasetOf(2, {1, 2, 3, 3e38f}, {0, 0});
  EXPECT_THAT(
      std::string(ScaleFeatures({{0, 0, 0}, {1, 1, 1}}, &dataset).message()),
      HasSubstr("samples have 2 features, the scaling has 3"));
  EXPECT_THAT(std::string(ScaleFeatures({{0}, {10}}, &dataset).message()),
              HasSubstr("row 1, column 1 is not finite after scaling"));
}

}  // namespace
}  // namespace selari
