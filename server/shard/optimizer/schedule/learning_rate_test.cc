#include "server/shard/optimizer/schedule/learning_rate.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {
namespace {

constexpr int64_t kLastStep = std::numeric_limits<int64_t>::max();

LearningRate Make(double base, const ScheduleOptions& schedule) {
  OptimizerOptions options;
  options.learning_rate = base;
  options.schedule = schedule;
  return LearningRate::Create(options).value();
}

std::vector<double> FirstRates(const LearningRate& learning_rate, int count) {
  std::vector<double> rates;
  for (int step = 1; step <= count; ++step) {
    rates.push_back(learning_rate.At(step));
  }
  return rates;
}

TEST(LearningRateTest, ConstantByDefault) {
  const LearningRate learning_rate = Make(0.3, ScheduleOptions());
  EXPECT_EQ(learning_rate.At(1), 0.3);
  EXPECT_EQ(learning_rate.At(kLastStep), 0.3);
}

TEST(LearningRateTest, StepFallsAfterEachInterval) {
  ScheduleOptions schedule;
  schedule.kind = StepScheduleOptions{2, 0.5};
  EXPECT_EQ(FirstRates(Make(8, schedule), 5),
            std::vector<double>({8, 8, 4, 4, 2}));
  EXPECT_EQ(Make(8, schedule).At(kLastStep), 0);
}

TEST(LearningRateTest, CosineKeepsItsFinalFactor) {
  ScheduleOptions schedule;
  schedule.kind = CosineScheduleOptions{2, 0.5};
  EXPECT_EQ(FirstRates(Make(8, schedule), 5),
            std::vector<double>({8, 6, 4, 4, 4}));
  EXPECT_EQ(Make(8, schedule).At(kLastStep), 4);
}

TEST(LearningRateTest, PolynomialKeepsItsFinalFactor) {
  ScheduleOptions schedule;
  schedule.kind = PolynomialScheduleOptions{4, 2, 0};
  EXPECT_EQ(FirstRates(Make(16, schedule), 6),
            std::vector<double>({16, 9, 4, 1, 0, 0}));
  schedule.kind = PolynomialScheduleOptions{4, 1, 0.5};
  EXPECT_EQ(FirstRates(Make(16, schedule), 6),
            std::vector<double>({16, 14, 12, 10, 8, 8}));
  EXPECT_EQ(Make(16, schedule).At(kLastStep), 8);
}

TEST(LearningRateTest, WarmUpRisesThenTheScheduleStartsFromItsBeginning) {
  ScheduleOptions schedule;
  schedule.warmup_steps = 4;
  schedule.kind = StepScheduleOptions{2, 0.5};
  EXPECT_EQ(FirstRates(Make(8, schedule), 7),
            std::vector<double>({2, 4, 6, 8, 8, 8, 4}));
}

TEST(LearningRateTest, InvalidOptionsAreRefused) {
  OptimizerOptions options;
  options.learning_rate = -1;
  EXPECT_EQ(LearningRate::Create(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace selari
