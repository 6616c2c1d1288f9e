#include "worker/client/tensor_inbox.h"

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
        inbox_(layout_.ChunksOfTensor(1)) {}

  float* Begin(int32_t chunk, int64_t version) {
    ChunkValue value{chunk, version, {}};
    value.weights = FloatSlice(nullptr, layout_.chunk(chunk).count, nullptr);
    return inbox_.BeginFill(value);
  }

  const ChunkLayout layout_;
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

}  // namespace
}  // namespace selari
