#include "server/checkpoint/export_data.h"

#include <cstring>

#include "gtest/gtest.h"

namespace selari {
namespace {

std::vector<double> Values(const DataArray& array) {
  std::vector<double> values(array.bytes.size() / sizeof(double));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

TEST(ExportDataTest, BothScalingsBecomeOne) {
  v1::ResolvedJob job;
  job.mutable_job()->mutable_data()->set_shift(10);
  job.mutable_job()->mutable_data()->set_scale(0.5);
  job.mutable_job()->mutable_data()->set_standardize(true);
  job.add_feature_shift(2);
  job.add_feature_shift(-1);
  job.add_feature_scale(4);
  job.add_feature_scale(8);
  const std::vector<DataArray> arrays = ScalingArrays(job);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].declaration.name, "data/shift");
  EXPECT_EQ(arrays[0].declaration.shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(Values(arrays[0]), (std::vector<double>{14, 8}));
  EXPECT_EQ(Values(arrays[1]), (std::vector<double>{2, 4}));
}

TEST(ExportDataTest, WithoutStandardizeThereIsOneNumberForAll) {
  v1::ResolvedJob job;
  job.mutable_job()->mutable_data()->set_shift(127.5);
  const std::vector<DataArray> arrays = ScalingArrays(job);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_TRUE(arrays[0].declaration.shape.empty());
  EXPECT_EQ(Values(arrays[0]), std::vector<double>{127.5});
  EXPECT_EQ(Values(arrays[1]), std::vector<double>{1});
}

TEST(ExportDataTest, WhatIsNotKnownIsLeftOut) {
  v1::ResolvedJob job;
  EXPECT_TRUE(ScalingArrays(job).empty());
  EXPECT_TRUE(DataMetadata(job).empty());
  job.mutable_job()->mutable_data()->set_standardize(true);
  EXPECT_TRUE(ScalingArrays(job).empty());
}

TEST(ExportDataTest, NamesOfFeaturesAndLabel) {
  v1::ResolvedJob job;
  job.mutable_job()
      ->mutable_data()
      ->mutable_train()
      ->mutable_csv()
      ->set_label_column("y");
  job.add_feature_names("a");
  job.add_feature_names("say \"b\"");
  job.set_class_count(2);
  const auto metadata = DataMetadata(job);
  EXPECT_EQ(metadata.at("selari.feature_names"), R"(["a","say \"b\""])");
  EXPECT_EQ(metadata.at("selari.label_column"), "y");
  EXPECT_EQ(metadata.at("selari.class_count"), "2");
}

}  // namespace
}  // namespace selari
