#include "cli/chaos/json_lines.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(JsonLinesTest, ReadsObjectsAsTheirLinesEnd) {
  const std::string path = testing::TempDir() + "/json_lines";
  JsonLines lines(path);
  EXPECT_TRUE(lines.Read().empty());  // no file yet
  std::ofstream out(path);
  out << "{\"a\":1}\nselari: a note\n[1]\n{\"a\":" << std::flush;
  std::vector<nlohmann::json> read = lines.Read();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0]["a"], 1);
  EXPECT_TRUE(lines.Read().empty());
  out << "2}\n" << std::flush;
  read = lines.Read();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0]["a"], 2);
}

}  // namespace
}  // namespace selari
