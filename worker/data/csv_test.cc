#include "worker/data/csv.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/printable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(absl::string_view text, const CsvOptions& options = {}) {
  return std::string(ParseCsv("t.csv", text, options).status().message());
}

std::vector<float> Features(const CsvTable& table) {
  return std::vector<float>(table.features->data(),
                            table.features->data() + table.features->size());
}

TEST(CsvTest, WhatAMessageRepeatsIsEscapedAndCut) {
  CsvOptions options;
  options.label_column = "y";
  const std::string wide = "a\x1b[31m," + std::string(5000, 'b');
  for (const std::string& text :
       {wide + "\n1,2\n", wide + ",y\n1,\xff,2\n",
        absl::StrCat(wide, ",", wide, "\n"),
        "y,x\n1," + std::string(5000, '\xff') + "\n"}) {
    const std::string message = Message(text, options);
    EXPECT_NE(message, "");
    EXPECT_LT(message.size(), 600u) << message;
    EXPECT_EQ(message, Printable(message));
  }
}

TEST(CsvTest, TakesTheLabelByNameFromTheMiddle) {
  CsvOptions options;
  options.label_column = "y";
  const auto table = ParseCsv("t.csv", "a,y,b\n1,0,2.5\n-3e1,7,+4\n", options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->row_count, 2);
  EXPECT_THAT(table->feature_names, ElementsAre("a", "b"));
  EXPECT_THAT(Features(*table), ElementsAre(1, 2.5, -30, 4));
  EXPECT_THAT(table->labels, ElementsAre(0, 7));
  EXPECT_THAT(table->targets, IsEmpty());
}

TEST(CsvTest, TakesTheLabelByNumberAndChosenFeatures) {
  CsvOptions options;
  options.label_column = "0";
  options.feature_columns = {"c", "a"};
  options.class_labels = false;
  const auto table = ParseCsv("t.csv", "y,a,b,c\n0.5,1,x,3\n", options);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(Features(*table), ElementsAre(3, 1));
  EXPECT_THAT(table->targets, ElementsAre(0.5));
}

TEST(CsvTest, ReadsQuotesByteOrderMarkAndCarriageReturns) {
  const auto table = ParseCsv(
      "t.csv", "\xEF\xBB\xBF\"a,\"\"1\"\"\",y\r\n\" 4\",1\r\n\r\n5,0", {});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->feature_names, ElementsAre("a,\"1\""));
  EXPECT_THAT(Features(*table), ElementsAre(4, 5));
  EXPECT_THAT(table->labels, ElementsAre(1, 0));
}

TEST(CsvTest, NamesLineAndColumnOfABadField) {
  EXPECT_THAT(Message("a,y\n1,0\nabc,0\n"),
              HasSubstr("t.csv: line 3, column 'a': 'abc' is not a number"));
  EXPECT_THAT(Message("a,y\n,0\n"),
              HasSubstr("line 2, column 'a': empty field; fill it"));
  EXPECT_THAT(Message("a,y\n1,0\n\nnan,0\n"),
              HasSubstr("line 4, column 'a': 'nan' is not a finite"));
  EXPECT_THAT(Message("a,y\n1e39,0\n"), HasSubstr("not a finite 32-bit"));
  EXPECT_THAT(Message("a,y\n1,0.5\n"),
              HasSubstr("line 2, column 'y': '0.5' is not a class number"));
  EXPECT_THAT(Message("a,y\n1,-1\n"), HasSubstr("'-1' is not a class number"));
  CsvOptions options;
  options.class_count = 2;
  EXPECT_THAT(
      Message("a,y\n1,0\n1,2\n", options),
      HasSubstr("line 3, column 'y': '2' is no class of the job, which are 0 "
                "to 1"));
}

TEST(CsvTest, CountsLinesInsideQuotes) {
  EXPECT_THAT(Message("\"a\nb\",y\n1,0\nx,0\n"), HasSubstr("line 4"));
}

TEST(CsvTest, RefusesRaggedRowsAndOpenQuotes) {
  EXPECT_THAT(Message("a,b,y\n1,2,0\n1,2\n"),
              HasSubstr("line 3 has 2 fields, the header has 3"));
  EXPECT_THAT(Message("a,y\n1,\"0\n"),
              HasSubstr("quote opened at line 2 is never closed"));
}

TEST(CsvTest, RefusesBadHeaders) {
  CsvOptions options;
  options.label_column = "label";
  EXPECT_THAT(Message("a,b,y\n1,2,0\n", options),
              HasSubstr("no column 'label'; the 3 columns are a, b, y"));
  EXPECT_THAT(Message("a,a,y\n1,2,0\n"),
              HasSubstr("two columns are named 'a'"));
  EXPECT_THAT(Message("a;y\n1;0\n"), HasSubstr("Is the delimiter right?"));
  EXPECT_THAT(Message(""), HasSubstr("is empty"));
  EXPECT_THAT(Message("a,y\n"), HasSubstr("has a header but no row"));
  options.label_column = "a";
  options.feature_columns = {"a"};
  EXPECT_THAT(Message("a,y\n1,2\n", options),
              HasSubstr("both the label and a feature"));
}

}  // namespace
}  // namespace selari
