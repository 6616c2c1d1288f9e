#include "worker/client/push_lane.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> Sequences(const std::vector<ChunkPush>& pushes) {
  std::vector<int64_t> sequences;
  for (const ChunkPush& push : pushes) {
    sequences.push_back(push.sequence);
  }
  return sequences;
}

class PushLaneTest : public ::testing::Test {
 protected:
  void Add(int count) {
    for (int i = 0; i < count; ++i) {
      lane_.Add(ChunkPush());
    }
  }

  PushLane lane_;
};

TEST_F(PushLaneTest, NumbersWithoutGapsFromOne) {
  EXPECT_EQ(lane_.Add(ChunkPush())->sequence, 1);
  EXPECT_EQ(lane_.Add(ChunkPush())->sequence, 2);
}

TEST_F(PushLaneTest, KeepsWhatIsNotAcknowledgedInOrder) {
  Add(4);
  lane_.Acknowledge(2);
  lane_.Acknowledge(99);

  EXPECT_THAT(Sequences(lane_.TakeAll()), ElementsAre(1, 3, 4));
  EXPECT_FALSE(lane_.empty());
}

TEST_F(PushLaneTest, RefusedPushAndThoseAfterItGoOutAgain) {
  Add(3);
  lane_.Retry(2, 50);
  lane_.Retry(3, 70);  // refused for the gap

  EXPECT_EQ(lane_.Add(ChunkPush()), std::nullopt) << "must not overtake";
  EXPECT_THAT(lane_.TakeRetries(49), IsEmpty());
  EXPECT_THAT(Sequences(lane_.TakeRetries(50)), ElementsAre(2, 3, 4));
  EXPECT_THAT(lane_.TakeRetries(1000), IsEmpty());
  EXPECT_TRUE(lane_.Add(ChunkPush()).has_value());
}

TEST_F(PushLaneTest, EarlierPushMovesTheRetryForward) {
  Add(3);
  lane_.Retry(3, 70);
  lane_.Retry(1, 60);

  EXPECT_THAT(Sequences(lane_.TakeRetries(60)), ElementsAre(1, 2, 3));
}

TEST_F(PushLaneTest, LateRefusalOfAnAcknowledgedPushIsIgnored) {
  Add(1);
  lane_.Acknowledge(1);
  lane_.Retry(1, 10);

  EXPECT_EQ(lane_.retry_at_ms(), std::nullopt);
}

TEST_F(PushLaneTest, NewConnectionEndsAPlannedRetry) {
  Add(2);
  lane_.Retry(1, 50);

  EXPECT_THAT(Sequences(lane_.TakeAll()), ElementsAre(1, 2));
  EXPECT_TRUE(lane_.Add(ChunkPush()).has_value());
}

TEST_F(PushLaneTest, CountsRetriesUntilAnAcknowledgement) {
  Add(2);
  for (int i = 0; i < 3; ++i) {
    lane_.Retry(1, i);
    lane_.TakeRetries(i);
  }
  EXPECT_EQ(lane_.retry_count(), 3);
  lane_.Acknowledge(1);
  EXPECT_EQ(lane_.retry_count(), 0);
}

}  // namespace
}  // namespace selari
