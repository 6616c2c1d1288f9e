// Captures and the stop of a job, in SYNC.

#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "server/shard/shard.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kCount = 64;
constexpr TreeNode kRoot{3, 0};
constexpr TreeNode kLeft{2, 0};

class ShardCaptureTest : public testing::Test {
 protected:
  ShardCaptureTest() {
    v1::ResolvedJob resolved = MakeTestJob({{"w", kCount}, {"b", kCount}});
    resolved.mutable_job()->mutable_cluster()->set_shard_count(1);
    resolved.mutable_job()->mutable_optimizer()->mutable_adam();
    job_ = CreateJobOrDie(resolved);
    shard_ = std::make_unique<Shard>(ShardState::Initial(job_, 0));
    shard_->OpenSession(1, {0, 7}, &replies_);
  }

  void Push(int32_t chunk, int64_t step, TreeNode node = kRoot) {
    ChunkPush push;
    push.chunk = chunk;
    push.step = step;
    push.node = node;
    push.sequence = ++sequence_;
    push.gradient = MakeSlice(std::vector<float>(kCount, 0.5f + step));
    shard_->Handle(1, push, &replies_);
  }
  void Step(int64_t step) {
    Push(0, step);
    Push(1, step);
  }
  void Capture(int64_t step, bool stop = false) {
    shard_->Capture(
        step, stop,
        [this](absl::StatusOr<ShardSnapshot> result) {
          captured_ = std::move(result);
        },
        &replies_);
  }
  size_t CountJobStopped() const {
    size_t count = 0;
    for (const RequestError& error : RepliesTo<RequestError>(1, replies_)) {
      count += error.reason == ErrorReason::kJobStopped ? 1 : 0;
    }
    return count;
  }

  std::shared_ptr<const ShardJob> job_;
  std::unique_ptr<Shard> shard_;
  Shard::Replies replies_;
  int64_t sequence_ = 0;
  std::optional<absl::StatusOr<ShardSnapshot>> captured_;
};

TEST_F(ShardCaptureTest, TakesEachChunkWhenItIsThere) {
  Capture(1);
  Push(0, 0);
  const std::vector<float> first = Values(shard_->state().weights(0));
  Push(0, 1);
  EXPECT_FALSE(captured_.has_value());
  Push(1, 0);
  ASSERT_TRUE(captured_.has_value() && captured_->ok());
  EXPECT_EQ((*captured_)->version, 1);
  EXPECT_EQ(Values(*(*captured_)->chunks[0].weights), first);
  EXPECT_NE(Values(shard_->state().weights(0)), first);
}

// A copy is made only by the first update after a capture.
TEST_F(ShardCaptureTest, SlotsOfACaptureDoNotChange) {
  Step(0);
  Capture(-1);
  ASSERT_TRUE(captured_.has_value() && captured_->ok());
  const ChunkState chunk = (*captured_)->chunks[0];
  const std::vector<float> slots = Values(*chunk.slots);
  ASSERT_EQ(slots.size(), 2u * kCount);
  Step(1);
  Step(2);
  EXPECT_EQ(Values(*chunk.slots), slots);
}

TEST_F(ShardCaptureTest, RefusesAStepThatIsPast) {
  Push(0, 0);
  Push(0, 1);
  Capture(1, /*stop=*/true);
  ASSERT_TRUE(captured_.has_value());
  EXPECT_EQ(captured_->status(),
            absl::FailedPreconditionError("shard 0 is at step 2, past step 1"));
  Push(0, 2);
  EXPECT_EQ(shard_->state().version(0), 3) << "it does not stop either";
}

TEST_F(ShardCaptureTest, StopFreezesAtTheStep) {
  Step(0);
  Push(1, 1, kLeft);
  Push(1, 2, kLeft);
  shard_->Handle(1, ChunkPull{0, 3, 0}, &replies_);
  shard_->Handle(1, ChunkPull{0, 2, 0}, &replies_);
  Capture(2, /*stop=*/true);
  EXPECT_EQ(CountJobStopped(), 2u) << "a push of step 2, a pull of version 3";
  Push(0, 1);
  Push(1, 1);
  ASSERT_TRUE(captured_.has_value() && captured_->ok());
  EXPECT_EQ(RepliesTo<ChunkValue>(1, replies_).size(), 1u);
  Push(0, 2);
  shard_->Handle(1, ChunkPull{1, 3, 0}, &replies_);
  EXPECT_EQ(CountJobStopped(), 4u);
  EXPECT_EQ(shard_->state().max_version(), 2);
  EXPECT_TRUE((replies_.clear(), Push(0, 1),
               RepliesTo<PushAck>(1, replies_)[0].repeated));
}

TEST_F(ShardCaptureTest, StopWhileTheUpdateWaitsForTotals) {
  v1::ResolvedJob resolved = MakeTestJob({{"w", kCount}, {"b", kCount}});
  resolved.mutable_job()->mutable_cluster()->set_shard_count(1);
  resolved.mutable_job()->mutable_optimizer()->set_clip_global_norm(1);
  shard_ =
      std::make_unique<Shard>(ShardState::Initial(CreateJobOrDie(resolved), 0));
  shard_->OpenSession(1, {0, 7}, &replies_);
  Step(0);
  Capture(0, /*stop=*/true);
  ASSERT_TRUE(captured_.has_value() && captured_->ok());
  EXPECT_EQ(CountJobStopped(), 2u);
  shard_->Handle(1, ReductionTotals{0, 0, 0, {1}}, &replies_);
  EXPECT_EQ(shard_->state().max_version(), 0);
}

TEST_F(ShardCaptureTest, CancelsWhatIsNotDone) {
  Capture(5);
  shard_.reset();
  ASSERT_TRUE(captured_.has_value());
  EXPECT_EQ(captured_->status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ShardCaptureTest, ASnapshotOfAnotherLayoutIsRefused) {
  Capture(-1);
  ShardSnapshot snapshot = **captured_;
  snapshot.chunks[1].weights = FloatBuffer::Allocate(kCount - 1);
  EXPECT_EQ(ShardState::FromSnapshot(job_, snapshot).status().message(),
            "snapshot of shard 0: chunk 1 with 63 elements of tensor 1 from 0 "
            "on, the job has chunk 1 with 64 elements of tensor 1 from 0 on");
  snapshot = **captured_;
  snapshot.chunks[0].slots = nullptr;
  EXPECT_EQ(ShardState::FromSnapshot(job_, snapshot).status().message(),
            "snapshot of shard 0: chunk 0 has 0 floats of optimizer state, "
            "the job's optimizer needs 128");
  snapshot.chunks.pop_back();
  EXPECT_FALSE(ShardState::FromSnapshot(job_, snapshot).ok());
  snapshot.shard = 4;
  EXPECT_FALSE(ShardState::FromSnapshot(job_, snapshot).ok());
}

}  // namespace
}  // namespace selari
