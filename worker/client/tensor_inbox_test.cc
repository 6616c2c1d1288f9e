#include "worker/client/tensor_inbox.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"

namespace selari {
namespace {

// The second tensor of a model: 48 elements in chunks 1 (16, shard 0) and 2
// (32, shard 1).
class TensorInboxTest : public ::testing::Test {
 protected:
  TensorInboxTest()
      : layout_(*ChunkLayout::Create({16, 48}, {2, 1000})),
        inbox_(layout_.ChunksOfTensor(1), &source_) {}

  float* Begin(int32_t chunk, int64_t version) {
    ChunkValue value{chunk, version, {}};
    value.weights = FloatSlice(nullptr, layout_.chunk(chunk).count, nullptr);
    return inbox_.BeginFill(value);
  }

  const ChunkLayout layout_;
  const BufferSource source_ = FloatBuffer::Allocate;
  TensorInbox inbox_;
};

TEST_F(TensorInboxTest, CompleteWhenEveryChunkIsThere) {
  ASSERT_EQ(layout_.ChunksOfTensor(1).size(), 2u);
  EXPECT_FALSE(inbox_.complete());
  inbox_.Request(3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(inbox_.weights().data()) % 64, 0u);
  EXPECT_EQ(Begin(1, 3), inbox_.weights().data());
  inbox_.EndFill(1);
  EXPECT_FALSE(inbox_.complete());
  EXPECT_EQ(Begin(2, 4), inbox_.weights().data() + layout_.chunk(2).offset);
  EXPECT_FALSE(inbox_.complete()) << "still being written";
  inbox_.EndFill(2);
  EXPECT_TRUE(inbox_.complete());
}

TEST_F(TensorInboxTest, OldRepeatedAndUnwantedValuesAreIgnored) {
  EXPECT_EQ(Begin(1, 3), nullptr) << "nothing requested";
  inbox_.Request(3);
  EXPECT_EQ(Begin(1, 2), nullptr) << "old";
  EXPECT_NE(Begin(1, 3), nullptr);
  EXPECT_EQ(Begin(1, 3), nullptr) << "being written";
  inbox_.EndFill(1);
  EXPECT_EQ(Begin(1, 3), nullptr) << "there";
}

TEST_F(TensorInboxTest, MissingPullsNameWhatIsNotThere) {
  inbox_.Request(3);
  EXPECT_EQ(inbox_.MissingPulls(-1).size(), 2u);
  ASSERT_EQ(inbox_.MissingPulls(1).size(), 1u);
  EXPECT_EQ(inbox_.MissingPulls(1)[0].chunk, 2);
  EXPECT_EQ(inbox_.MissingPulls(1)[0].min_version, 3);
  Begin(2, 3);
  EXPECT_TRUE(inbox_.MissingPulls(1).empty());
  EXPECT_TRUE(inbox_.IsMissing(1));
  EXPECT_FALSE(inbox_.IsMissing(2));
}

TEST_F(TensorInboxTest, PullsSayWhereTheWeightsGo) {
  inbox_.Request(3);
  const ChunkPull pull = inbox_.PullOf(2);
  EXPECT_EQ(pull.into.data(), Begin(2, 3));
  EXPECT_EQ(pull.into.size(), 32u);
}

// What a pull named may be written to until it is answered.
TEST_F(TensorInboxTest, MemoryOfBrokenPullsIsAbandoned) {
  inbox_.Request(3);
  const ChunkPull broken = inbox_.PullOf(2);
  std::fill_n(Begin(1, 3), 16, 5.0f);
  inbox_.EndFill(1);
  inbox_.Abandon({0});
  EXPECT_EQ(inbox_.PullOf(2).into.data(), broken.into.data())
      << "nothing of shard 0 was missing";

  inbox_.Abandon({0, 1});

  const ChunkPull again = inbox_.PullOf(2);
  EXPECT_NE(again.into.data(), broken.into.data());
  EXPECT_EQ(Begin(2, 3), again.into.data());
  inbox_.EndFill(2);
  EXPECT_TRUE(inbox_.complete());
  EXPECT_EQ(inbox_.weights()[0], 5.0f) << "what was there is kept";
  EXPECT_EQ(inbox_.weights()[15], 5.0f);
}

TEST_F(TensorInboxTest, MemoryOfUnansweredPullsIsAbandoned) {
  inbox_.Request(3);
  const ChunkPull first = inbox_.PullOf(1);
  inbox_.Request(4);
  const ChunkPull second = inbox_.PullOf(1);
  EXPECT_NE(first.into.data(), second.into.data());
  for (const int32_t chunk : {1, 2}) {
    Begin(chunk, 4);
    inbox_.EndFill(chunk);
  }
  inbox_.Request(5);
  EXPECT_EQ(inbox_.PullOf(1).into.data(), second.into.data())
      << "answered, so used again";
}

}  // namespace
}  // namespace selari
