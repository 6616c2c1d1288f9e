#include "server/shard/worker_table.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr WorkerIdentity kWorker{3, 77};
constexpr WorkerIdentity kNextLife{3, 78};

TEST(WorkerTable, CountsTheSequenceOfOneLife) {
  WorkerTable table(2);
  EXPECT_EQ(table.NextSequence(kWorker), 1);
  EXPECT_TRUE(table.Record(kWorker, 1, 0, 0));
  EXPECT_EQ(table.NextSequence(kWorker), 2);
  EXPECT_EQ(table.NextSequence(kNextLife), 1);
}

TEST(WorkerTable, AClockIsDoneWhenAllChunksHaveIt) {
  WorkerTable table(2);
  table.Record(kWorker, 1, 0, 0);
  EXPECT_EQ(table.Clock(3), 0);
  table.Record(kWorker, 2, 1, 0);
  EXPECT_EQ(table.Clock(3), 1);
  EXPECT_EQ(table.Clock(4), 0);
}

TEST(WorkerTable, KnowsWhatAFormerLifePushed) {
  WorkerTable table(2);
  table.Record(kWorker, 1, 0, 5);
  EXPECT_FALSE(table.Record(kNextLife, 1, 0, 5));
  EXPECT_TRUE(table.Record(kNextLife, 2, 1, 5));
  EXPECT_EQ(table.Clock(3), 6);
  EXPECT_EQ(table.NextSequence(kNextLife), 3);
}

TEST(WorkerTable, ComesBackFromASnapshot) {
  WorkerTable table(2);
  table.Record(kWorker, 1, 0, 5);
  table.Record({1, 9}, 1, 1, 0);
  WorkerTable restored(2);
  restored.Restore(table.Snapshot());
  EXPECT_EQ(restored.NextSequence(kWorker), 2);
  EXPECT_FALSE(restored.Record(kWorker, 2, 0, 5));
  ASSERT_EQ(table.Snapshot().size(), 2u);
  EXPECT_EQ(table.Snapshot()[0].worker_id, 1);
}

TEST(WorkerTable, TakesOneClockForAllChunks) {
  WorkerClock clock;
  clock.worker_id = 3;
  clock.clock = 4;
  WorkerTable table(2);
  table.Restore({&clock, 1});
  EXPECT_EQ(table.Clock(3), 4);
  EXPECT_EQ(table.NextSequence(kWorker), 1);
  EXPECT_FALSE(table.Record(kWorker, 1, 1, 3));
}

}  // namespace
}  // namespace selari
