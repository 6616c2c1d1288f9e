#include "server/checkpoint/field_difference.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"

namespace selari {
namespace {

std::vector<std::string> Compare(const std::string& was_text,
                                 const std::string& is_text) {
  v1::Job was;
  v1::Job is;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(was_text, &was));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(is_text, &is));
  std::vector<std::string> lines;
  for (const FieldDifference& difference : CompareFields(was, is)) {
    lines.push_back(absl::StrCat(difference.path, ": ", difference.was, " -> ",
                                 difference.is,
                                 difference.is_value ? " value" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(FieldDifferenceTest, EqualMessagesDoNotDiffer) {
  EXPECT_EQ(Compare("seed: 1", "seed: 1"), Lines());
  EXPECT_EQ(Compare("training {}", ""), Lines());
}

TEST(FieldDifferenceTest, ValuesAreNamedByPath) {
  EXPECT_EQ(
      Compare("optimizer { sgd { momentum: 0.9 } }",
              "seed: 7 optimizer { sgd {} }"),
      Lines({"seed: 0 -> 7 value", "optimizer.sgd.momentum: 0.9 -> 0 value"}));
  EXPECT_EQ(
      Compare("data { scale: 0.1 } name: \"a\"", "name: \"b\""),
      Lines({"name: \"a\" -> \"b\" value", "data.scale: 0.1 -> 0 value"}));
  EXPECT_EQ(Compare("model { loss: LOSS_LOGISTIC }", ""),
            Lines({"model.loss: LOSS_LOGISTIC -> LOSS_UNSPECIFIED value"}));
}

TEST(FieldDifferenceTest, OptionalFieldMayBeMissing) {
  EXPECT_EQ(Compare("optimizer { adam {} }", "optimizer { adam { beta1: 0 } }"),
            Lines({"optimizer.adam.beta1: not set -> 0"}));
}

TEST(FieldDifferenceTest, OneofIsNamedOnce) {
  EXPECT_EQ(Compare("optimizer { adam { beta1: 0.5 } }",
                    "optimizer { sgd { momentum: 0.9 } }"),
            Lines({"optimizer.algorithm: adam -> sgd"}));
  EXPECT_EQ(Compare("", "optimizer { lamb {} }"),
            Lines({"optimizer.algorithm: not set -> lamb"}));
}

TEST(FieldDifferenceTest, ListsAreComparedByEntry) {
  EXPECT_EQ(
      Compare("model { layers { dense { units: 3 } } layers { relu {} } }",
              "model { layers { dense { units: 4 } } }"),
      Lines({"model.layers[0].dense.units: 3 -> 4 value",
             "model.layers[1]: { relu { } } -> not set"}));
  EXPECT_EQ(
      Compare("data { feature_shape: [8, 8] }", "data { feature_shape: 8 }"),
      Lines({"data.feature_shape: [8, 8] -> [8] value"}));
}

TEST(FieldDifferenceTest, LongValuesAreCutOff) {
  const Lines lines =
      Compare("name: \"" + std::string(200, 'x') + "\"", "name: \"y\"");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "name: \"" + std::string(99, 'x') + "... -> \"y\"");
}

}  // namespace
}  // namespace selari
