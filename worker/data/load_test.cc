#include "worker/data/load.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/posix_file_env.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"

namespace selari {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadTest : public ::testing::Test {
 protected:
  void Write(absl::string_view name, absl::string_view bytes) {
    const auto file = env_.OpenForWrite(JoinPath(dir_, name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(bytes).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  // Three images of 2 x 2 and their labels, as IDX.
  void WriteIdx() {
    Write(
        "images",
        std::string("\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02", 16) +
            std::string("\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b", 12));
    Write("labels", std::string("\0\0\x08\x01\0\0\0\x03\x02\0\x01", 11));
  }

  absl::StatusOr<DataSplits> Load(absl::string_view text,
                                  LabelKind kind = LabelKind::kClass) {
    v1::Data data;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(text),
                                                              &data));
    return LoadData(env_, data, dir_, kind);
  }

  std::string Message(absl::string_view text,
                      LabelKind kind = LabelKind::kClass) {
    return std::string(Load(text, kind).status().message());
  }

  PosixFileEnv env_;
  const std::string dir_ = ::testing::TempDir();
};

std::vector<float> Features(const Dataset& dataset) {
  return std::vector<float>(
      dataset.features->data(),
      dataset.features->data() + dataset.features->size());
}

constexpr absl::string_view kIdx =
    "train { idx { features: 'images' labels: 'labels' } } ";

TEST_F(LoadTest, LoadsAndScalesIdx) {
  WriteIdx();
  const auto splits = Load(absl::StrCat(kIdx, "shift: 1 scale: 0.5"));
  ASSERT_TRUE(splits.ok()) << splits.status();
  const Dataset& train = splits->train;
  EXPECT_EQ(train.size, 3);
  EXPECT_EQ(train.dim, 4);
  EXPECT_EQ(train.class_count, 3);
  EXPECT_THAT(train.feature_shape, ElementsAre(2, 2));
  EXPECT_THAT(train.labels, ElementsAre(2, 0, 1));
  EXPECT_EQ(train.row(2)[3], 5.0f);
  EXPECT_FALSE(splits->test.has_value());
}

TEST_F(LoadTest, LimitsSamplesAndTakesTheShapeOfTheJob) {
  WriteIdx();
  const auto splits = Load(
      "train { idx { features: 'images' labels: 'labels' } sample_limit: 2 }"
      "feature_shape: [2, 2, 1] class_count: 10");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train.size, 2);
  EXPECT_EQ(splits->train.features->size(), 8);
  EXPECT_EQ(splits->train.class_count, 10);
  EXPECT_THAT(splits->train.feature_shape, ElementsAre(2, 2, 1));
}

TEST_F(LoadTest, TheTestSetIsScaledByTheTrainingSet) {
  Write("train.csv", "a,b,y\n1,5,0\n3,5,1\n");
  Write("test.csv", "a,b,y\n5,6,1\n");
  const auto splits = Load(
      "train { csv { path: 'train.csv' label_column: 'y' } }"
      "test { csv { path: 'test.csv' label_column: 'y' } } standardize: true");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(Features(splits->train), ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(Features(*splits->test), ElementsAre(3, 1));
}

TEST_F(LoadTest, LoadsTargetsOfARegression) {
  Write("train.csv", "a,y\n1,0.5\n3,-2\n");
  const auto splits =
      Load("train { csv { path: 'train.csv' label_column: 'y' } }",
           LabelKind::kTarget);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->train.targets, ElementsAre(0.5, -2));
  EXPECT_EQ(splits->train.class_count, 0);
}

TEST_F(LoadTest, FeaturesThatTradePlacesAreRefusedUnlessNamed) {
  Write("train.csv", "a,b,y\n1,2,0\n3,4,1\n");
  Write("test.csv", "b,y,a\n20,0,10\n40,1,30\n");
  constexpr char kTrain[] =
      "train { csv { path: 'train.csv' label_column: 'y' } }";
  EXPECT_THAT(
      Message(absl::StrCat(
          kTrain, "test { csv { path: 'test.csv' label_column: 'y' } }")),
      AllOf(HasSubstr("test.csv: feature 0 is column 'b', in "),
            HasSubstr("train.csv it is 'a'")));
  const auto splits =
      Load(absl::StrCat(kTrain,
                        "test { csv { path: 'test.csv' label_column: 'y' "
                        "feature_columns: ['a', 'b'] } }"));
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(Features(*splits->test), ElementsAre(10, 20, 30, 40));
}

TEST_F(LoadTest, ACsvFileNeedsTheNameOfItsLabels) {
  Write("train.csv", "a,y\n1,0\n3,1\n");
  EXPECT_THAT(Message("train { csv { path: 'train.csv' } }"),
              HasSubstr("set csv.label_column"));
}

TEST_F(LoadTest, NamesTheTrainingSetThatTheTestSetDiffersFrom) {
  Write("train.csv", "a,b,y\n1,2,0\n3,4,1\n");
  Write("test.csv", "a,y\n1,0\n3,1\n");
  EXPECT_THAT(
      Message("train { csv { path: 'train.csv' label_column: 'y' } }"
              "test { csv { path: 'test.csv' label_column: 'y' } }"),
      AllOf(HasSubstr("test.csv: samples have shape 1, the training set, "),
            HasSubstr("train.csv, says 2")));
}

TEST_F(LoadTest, NamesAMissingFile) {
  const auto splits =
      Load("train { npy { features: 'no_such.npy' labels: 'labels' } }");
  EXPECT_EQ(splits.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(splits.status().message()), HasSubstr("no_such.npy"));
}

TEST_F(LoadTest, NamesBothFilesWhenTheirCountsDiffer) {
  WriteIdx();
  Write("labels", std::string("\0\0\x08\x01\0\0\0\x02\0\0", 10));
  EXPECT_THAT(Message(kIdx), HasSubstr("images has 3 samples, "));
  EXPECT_THAT(Message(kIdx), HasSubstr("labels has 2 labels"));
}

TEST_F(LoadTest, ChecksTheJobAgainstTheFiles) {
  WriteIdx();
  EXPECT_THAT(Message(absl::StrCat(kIdx, "class_count: 2")),
              HasSubstr("label of row 0 is 2, the job has classes 0 to 1"));
  EXPECT_THAT(Message(absl::StrCat(kIdx, "train_sample_count: 4")),
              HasSubstr("has 3 samples, data.train_sample_count says 4"));
  EXPECT_THAT(Message(absl::StrCat(kIdx, "feature_shape: [3]")),
              HasSubstr("samples have shape 2x2, data.feature_shape says 3"));
  EXPECT_THAT(Message(""), HasSubstr("none of idx, csv and npy"));
}

TEST_F(LoadTest, TheTestSetMustFitTheTrainingSet) {
  Write("train.csv", "a,b,y\n1,5,0\n3,5,1\n");
  Write("test.csv", "a,y\n5,1\n");
  EXPECT_THAT(Message("train { csv { path: 'train.csv' label_column: 'y' } }"
                      "test { csv { path: 'test.csv' label_column: 'y' } }"),
              HasSubstr("test.csv: samples have shape 1"));
}

// The real data set, when Debian's dataset-fashion-mnist is installed.
TEST_F(LoadTest, LoadsFashionMnist) {
  if (!env_.Exists("/usr/share/datasets/fashion-mnist").value_or(false)) {
    std::printf("skipped: package dataset-fashion-mnist is not installed\n");
    GTEST_SKIP();
  }
  const auto splits = Load(
      "test { idx {"
      "  features: '/usr/share/datasets/fashion-mnist/"
      "t10k-images-idx3-ubyte.gz'"
      "  labels: '/usr/share/datasets/fashion-mnist/"
      "t10k-labels-idx1-ubyte.gz' } }"
      "train { idx {"
      "  features: '/usr/share/datasets/fashion-mnist/"
      "train-images-idx3-ubyte.gz'"
      "  labels: '/usr/share/datasets/fashion-mnist/"
      "train-labels-idx1-ubyte.gz' } }");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train.size, 60000);
  EXPECT_EQ(splits->test->size, 10000);
  EXPECT_EQ(splits->train.class_count, 10);
  EXPECT_THAT(splits->train.feature_shape, ElementsAre(28, 28));
}

}  // namespace
}  // namespace selari
