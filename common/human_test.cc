#include "common/human.h"

#include <limits>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(HumanTest, BytesKeepThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1000), "1.0 kB");
  EXPECT_EQ(HumanBytes(999499), "999 kB");
  EXPECT_EQ(HumanBytes(999999), "1.0 MB");
  EXPECT_EQ(HumanBytes(2345678901), "2.3 GB");
}

TEST(HumanTest, CountsAreShort) {
  EXPECT_EQ(HumanCount(12), "12");
  EXPECT_EQ(HumanCount(12345), "12.3 k");
  EXPECT_EQ(HumanCount(1234567), "1.2 M");
}

TEST(HumanTest, SecondsSayTheirUnit) {
  EXPECT_EQ(HumanSeconds(0.25), "0.2 s");
  EXPECT_EQ(HumanSeconds(42), "42 s");
  EXPECT_EQ(HumanSeconds(200), "3 min 20 s");
  EXPECT_EQ(HumanSeconds(7500), "2 h 5 min");
  EXPECT_EQ(HumanSeconds(-1), "unknown");
  EXPECT_EQ(HumanSeconds(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(HumanTest, OneThingIsSingular) {
  EXPECT_EQ(CountOf(1, "server"), "1 server");
  EXPECT_EQ(CountOf(0, "server"), "0 servers");
  EXPECT_EQ(CountOf(2, "worker"), "2 workers");
}

}  // namespace
}  // namespace selari
