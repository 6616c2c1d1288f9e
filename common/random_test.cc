#include "common/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr uint64_t kSeed = 20240607;

// Known answers published with the authors' Random123 library (kat_vectors).
TEST(RandomTest, PhiloxMatchesThePublishedAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {{0, 0}}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                       {{0xffffffff, 0xffffffff}}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {{0xa4093822, 0x299f31d0}}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, KeysDifferInEveryInput) {
  const auto bits = [](RandomKey key) {
    return (static_cast<uint64_t>(key.word[1]) << 32) | key.word[0];
  };
  std::vector<uint64_t> keys;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (RandomStream stream :
         {RandomStream::kInitialValue, RandomStream::kDropout}) {
      for (uint64_t a : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
        for (uint64_t b : {0, 1}) {
          keys.push_back(bits(MakeRandomKey(seed, stream, a, b)));
        }
      }
    }
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(RandomTest, AnyPartOfASequenceEqualsThatPartOfTheWhole) {
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest);
  std::vector<float> whole(257);
  std::vector<float> part(100);
  for (bool normal : {false, true}) {
    const auto fill = normal ? &FillNormal : &FillUniform;
    fill(key, 0, -1.0f, 2.0f, absl::MakeSpan(whole));
    for (size_t first = 0; first < 9; ++first) {
      fill(key, first, -1.0f, 2.0f, absl::MakeSpan(part));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first))
          << "first " << first << ", normal " << normal;
    }
  }
}

TEST(RandomTest, UniformStaysInRangeWithTheRightMean) {
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest);
  std::vector<float> values(100000);
  FillUniform(key, 0, 0.0f, 1.0f, absl::MakeSpan(values));
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0.0f);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1.0f);
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / values.size();
  EXPECT_NEAR(mean, 0.5, 0.005);  // five standard errors
  EXPECT_LT(UniformFromWord(0xFFFFFFFF), 1.0f);
}

TEST(RandomTest, NormalHasTheMomentsOfTheStandardNormal) {
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest);
  constexpr int kCount = 200000;
  double power[5] = {};
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double z = StandardNormal(key, i);
    beyond_two += std::abs(z) > 2.0;
    for (int p = 1; p <= 4; ++p) {
      power[p] += std::pow(z, p) / kCount;
    }
  }
  EXPECT_NEAR(power[1], 0.0, 0.012);
  EXPECT_NEAR(power[2], 1.0, 0.016);
  EXPECT_NEAR(power[3], 0.0, 0.045);
  EXPECT_NEAR(power[4], 3.0, 0.11);
  EXPECT_NEAR(beyond_two / double{kCount}, 0.0455, 0.0024);
}

// The same formula on libm: shows that the own log, sin and cos are right.
TEST(RandomTest, NormalAgreesWithLibm) {
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest);
  for (uint64_t i = 0; i < 20000; i += 2) {
    const double u = ((RandomWord64(key, i) >> 11) + 1) * 0x1.0p-53;
    const double turns = (RandomWord64(key, i + 1) >> 11) * 0x1.0p-53;
    const double radius = std::sqrt(-2.0 * std::log(u));
    const double angle = 2.0 * M_PI * turns;
    ASSERT_NEAR(StandardNormal(key, i), radius * std::cos(angle), 1e-14) << i;
    ASSERT_NEAR(StandardNormal(key, i + 1), radius * std::sin(angle), 1e-14)
        << i;
  }
}

TEST(RandomTest, ShuffleIsAPermutationThatDependsOnTheKeyOnly) {
  std::vector<int32_t> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::vector<int32_t> first = sorted;
  std::vector<int32_t> again = sorted;
  std::vector<int32_t> other = sorted;
  Shuffle(MakeRandomKey(kSeed, RandomStream::kShuffle, 1),
          absl::MakeSpan(first));
  Shuffle(MakeRandomKey(kSeed, RandomStream::kShuffle, 1),
          absl::MakeSpan(again));
  Shuffle(MakeRandomKey(kSeed, RandomStream::kShuffle, 2),
          absl::MakeSpan(other));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(first, sorted);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, sorted);
}

TEST(RandomTest, BoundedStaysBelowItsBoundAndReachesBothEnds) {
  EXPECT_EQ(BoundedFromWord64(0, 7), 0u);
  EXPECT_EQ(BoundedFromWord64(~uint64_t{0}, 7), 6u);
  EXPECT_EQ(BoundedFromWord64(~uint64_t{0}, 1), 0u);
}

}  // namespace
}  // namespace selari
