#include "cli/chaos/next_step_timer.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NextStepTimerTest, StepsFromBeforeTheFaultDoNotCount) {
  NextStepTimer timer;
  EXPECT_THAT(timer.OnStep(9.9, 100), IsEmpty());
  timer.OnFault(10);
  EXPECT_THAT(timer.OnStep(10.1, 100), IsEmpty());
  EXPECT_THAT(timer.OnStep(10.2, 130), IsEmpty());  // told late
  EXPECT_THAT(timer.OnStep(10.5, 130), IsEmpty());
  EXPECT_TRUE(timer.waits());
  EXPECT_THAT(timer.OnStep(12.5, 131), ElementsAre(2.5));
  EXPECT_FALSE(timer.waits());
  EXPECT_THAT(timer.OnStep(12.6, 140), IsEmpty());
}

TEST(NextStepTimerTest, AJobThatGoesBackIsBackWithTheStepAfterItsCheckpoint) {
  NextStepTimer timer;
  timer.OnFault(10);
  EXPECT_THAT(timer.OnStep(10.2, 130), IsEmpty());
  EXPECT_THAT(timer.OnStep(11, 130), IsEmpty());
  EXPECT_THAT(timer.OnStep(12, 100), IsEmpty());
  EXPECT_THAT(timer.OnStep(13, 101), ElementsAre(3));
}

TEST(NextStepTimerTest, TwoFaultsWaitForOneStep) {
  NextStepTimer timer;
  timer.OnFault(10);
  EXPECT_THAT(timer.OnStep(10.5, 7), IsEmpty());
  timer.OnFault(11);
  EXPECT_THAT(timer.OnStep(11.1, 8), IsEmpty());
  EXPECT_THAT(timer.OnStep(12, 8), IsEmpty());
  EXPECT_THAT(timer.OnStep(14, 9), ElementsAre(4, 3));
}

}  // namespace
}  // namespace selari
