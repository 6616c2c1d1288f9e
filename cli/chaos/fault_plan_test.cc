#include "cli/chaos/fault_plan.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(FaultPlanTest, NamesAndKindsBelongTogether) {
  for (const std::string& name : FaultNames()) {
    ASSERT_TRUE(FaultOfName(name).has_value()) << name;
    EXPECT_EQ(FaultNames()[static_cast<size_t>(*FaultOfName(name))], name);
  }
  EXPECT_EQ(FaultOfName("kill-server"), FaultKind::kKillServer);
  EXPECT_EQ(FaultOfName("pause-worker"), FaultKind::kPauseWorker);
  EXPECT_FALSE(FaultOfName("kill-everyone").has_value());
}

TEST(FaultPlanTest, TheSeedDecidesAndEachKindComes) {
  const std::vector<FaultKind> kinds = {FaultKind::kKillWorker,
                                        FaultKind::kPauseServer};
  FaultPlan plan(7, 2, kinds);
  FaultPlan same(7, 2, kinds);
  FaultPlan other(8, 2, kinds);
  std::set<FaultKind> seen;
  bool differs = false;
  double before = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(plan.next().at_seconds, same.next().at_seconds);
    EXPECT_EQ(plan.next().choice, same.next().choice);
    EXPECT_EQ(plan.next().kind, same.next().kind);
    differs = differs || plan.next().choice != other.next().choice;
    EXPECT_GE(plan.next().at_seconds - before, 1);
    EXPECT_LE(plan.next().at_seconds - before, 3);
    EXPECT_GE(plan.next().pause_seconds, 0.2);
    EXPECT_LT(plan.next().pause_seconds, 2);
    before = plan.next().at_seconds;
    seen.insert(plan.next().kind);
    for (FaultPlan* p : {&plan, &same, &other}) {
      p->Advance(0);
    }
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(seen, std::set<FaultKind>(kinds.begin(), kinds.end()));
}

TEST(FaultPlanTest, WhatCameLateIsNotCaughtUpWith) {
  FaultPlan plan(1, 2, {FaultKind::kKillServer});
  plan.Advance(100);
  EXPECT_GE(plan.next().at_seconds, 101);
}

}  // namespace
}  // namespace selari
