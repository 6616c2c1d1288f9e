#include "server/shard/initial_values.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr uint64_t kSeed = 42;
constexpr int64_t kCount = 1000;

v1::Initializer Normal(float stddev) {
  v1::Initializer initializer;
  initializer.set_normal_stddev(stddev);
  return initializer;
}

v1::Initializer Uniform(float limit) {
  v1::Initializer initializer;
  initializer.set_uniform_limit(limit);
  return initializer;
}

std::vector<float> Fill(uint64_t seed, int32_t tensor,
                        const v1::Initializer& initializer) {
  std::vector<float> values(kCount, -7);
  FillInitialValues(seed, tensor, initializer, 0, absl::MakeSpan(values));
  return values;
}

TEST(InitialValues, DoNotDependOnTheCuts) {
  for (const v1::Initializer& initializer : {Normal(0.1f), Uniform(0.2f)}) {
    const std::vector<float> whole = Fill(kSeed, 3, initializer);
    for (const int64_t piece : {1, 2, 7, 64, 999}) {
      std::vector<float> values(kCount);
      for (int64_t offset = 0; offset < kCount; offset += piece) {
        FillInitialValues(kSeed, 3, initializer, offset,
                          absl::MakeSpan(values).subspan(offset, piece));
      }
      EXPECT_EQ(values, whole) << "pieces of " << piece;
    }
  }
}

TEST(InitialValues, DependOnSeedAndTensor) {
  const std::vector<float> values = Fill(kSeed, 3, Uniform(0.2f));
  EXPECT_NE(values, Fill(kSeed + 1, 3, Uniform(0.2f)));
  EXPECT_NE(values, Fill(kSeed, 4, Uniform(0.2f)));
}

TEST(InitialValues, StayInTheRangeOfTheInitializer) {
  for (const float value : Fill(kSeed, 0, Uniform(0.25f))) {
    EXPECT_GE(value, -0.25f);
    EXPECT_LT(value, 0.25f);
  }
}

TEST(InitialValues, AreConstantOrZero) {
  v1::Initializer constant;
  constant.set_constant(1.5f);
  EXPECT_EQ(Fill(kSeed, 0, constant), std::vector<float>(kCount, 1.5f));
  EXPECT_EQ(Fill(kSeed, 0, {}), std::vector<float>(kCount, 0.0f));
}

}  // namespace
}  // namespace selari
