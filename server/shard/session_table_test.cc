#include "server/shard/session_table.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr WorkerIdentity kFirst{2, 100};
constexpr WorkerIdentity kSecond{2, 50};  // random numbers, not ordered

TEST(SessionTable, ALaterLifeFencesTheEarlierOne) {
  SessionTable table;
  table.Open(1, kFirst);
  EXPECT_TRUE(table.MayPush(kFirst));
  table.Open(2, kSecond);
  EXPECT_FALSE(table.MayPush(kFirst));
  EXPECT_TRUE(table.MayPush(kSecond));
}

TEST(SessionTable, AFencedLifeStaysFencedWhenItReconnects) {
  SessionTable table;
  table.Open(1, kFirst);
  table.Open(2, kSecond);
  table.Open(3, kFirst);
  EXPECT_FALSE(table.MayPush(kFirst));
  EXPECT_TRUE(table.MayPush(kSecond));
}

TEST(SessionTable, SessionsShareAnIdentity) {
  SessionTable table;
  table.Open(1, kFirst);
  table.Open(2, kFirst);
  table.Close(1);
  EXPECT_EQ(table.Find(1), nullptr);
  ASSERT_NE(table.Find(2), nullptr);
  EXPECT_EQ(*table.Find(2), kFirst);
  EXPECT_TRUE(table.MayPush(kFirst));
}

TEST(SessionTable, AnObserverFencesNobodyAndMayNotPush) {
  SessionTable table;
  table.Open(1, {kObserverId, 1});
  table.Open(2, {kObserverId, 2});
  EXPECT_FALSE(table.MayPush({kObserverId, 1}));
}

}  // namespace
}  // namespace selari
