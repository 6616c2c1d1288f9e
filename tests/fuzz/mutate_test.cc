// The canary: the mutations must find a planted bug, or passing means nothing.

#include "tests/fuzz/mutate.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

int g_call_count = 0;
int g_found_count = 0;

// Its "bug" is a length field larger than what follows.
int Canary(const uint8_t* data, std::size_t size) {
  ++g_call_count;
  if (size >= 4 && std::memcmp(data, "LEN", 3) == 0 && data[3] > size) {
    ++g_found_count;
  }
  return 0;
}

TEST(MutateTest, FindsAPlantedBug) {
  g_found_count = 0;
  FuzzWithMutations(Canary, {"LEN\x08payload "}, 1, 2000);
  EXPECT_GT(g_found_count, 0);
}

TEST(MutateTest, TriesEverySeedAndCut) {
  g_call_count = 0;
  FuzzWithMutations(Canary, {"abc", ""}, 1, 10);
  EXPECT_EQ(g_call_count, 4 + 1 + 10);
}

}  // namespace
}  // namespace selari
