#include "common/isa.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(IsaTest, NamesRoundTripInBothForms) {
  for (IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    const absl::string_view name = IsaLevelName(level);
    EXPECT_EQ(ParseIsaLevel(name).value(), level);
    EXPECT_EQ(ParseIsaLevel(name.substr(name.size() - 2)).value(), level);
  }
}

TEST(IsaTest, UnknownNameIsNamedInTheError) {
  const auto parsed = ParseIsaLevel("v5");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(parsed.status().message().find("\"v5\""), absl::string_view::npos);
  EXPECT_FALSE(ParseIsaLevel("").ok());
}

TEST(IsaTest, DetectionIsStableAndWithinTheKnownLevels) {
  const IsaLevel level = DetectIsaLevel();
  EXPECT_EQ(level, DetectIsaLevel());
  EXPECT_GE(level, IsaLevel::kV2);
  EXPECT_LE(level, IsaLevel::kV4);
}

}  // namespace
}  // namespace selari
