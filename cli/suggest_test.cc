#include "cli/suggest.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(SuggestTest, FindsTheNearestOrNothing) {
  const std::vector<std::string> known = {"servers", "workers", "steps",
                                          "resume"};
  EXPECT_EQ(Nearest("sevrers", known), "servers");
  EXPECT_EQ(Nearest("worker", known), "workers");
  EXPECT_EQ(Nearest("step", known), "steps");
  EXPECT_EQ(Nearest("verbose", known), "");
  EXPECT_EQ(Nearest("", known), "");
}

}  // namespace
}  // namespace selari
