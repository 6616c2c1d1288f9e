#include "server/shard/shard.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kCount = 64;
constexpr TreeNode kRoot{3, 0};
constexpr TreeNode kLeft{2, 0};
constexpr TreeNode kRight{2, 1};
constexpr WorkerIdentity kWorker0{0, 11};
constexpr WorkerIdentity kWorker1{1, 12};
constexpr float kRate = 0.1f;

// One shard of one tensor in two chunks of 64; the second stays at rest in
// most tests.
v1::ResolvedJob TwoChunkJob() {
  v1::ResolvedJob job = MakeTestJob({{"dense1/kernel", kCount}, {"b", kCount}});
  job.mutable_job()->mutable_cluster()->set_shard_count(1);
  return job;
}

class ShardTest : public testing::Test {
 protected:
  void Start(const v1::ResolvedJob& resolved) {
    job_ = CreateJobOrDie(resolved);
    shard_ = std::make_unique<Shard>(ShardState::Initial(job_, 0));
    shard_->OpenSession(1, kWorker0, &replies_);
    shard_->OpenSession(2, kWorker1, &replies_);
  }

  // Returns the replies that the request caused.
  Shard::Replies Handle(SessionId session, ShardRequest request) {
    Shard::Replies replies;
    shard_->Handle(session, std::move(request), &replies);
    return replies;
  }
  static ChunkPush Push(int64_t step, TreeNode node, int64_t sequence,
                        float value, int32_t chunk = 0) {
    ChunkPush push;
    push.chunk = chunk;
    push.step = step;
    push.node = node;
    push.sequence = sequence;
    push.gradient = MakeSlice(std::vector<float>(kCount, value));
    return push;
  }
  // The only refusal among the replies.
  static RequestError Refusal(const Shard::Replies& replies) {
    EXPECT_EQ(replies.size(), 1u);
    if (replies.empty() ||
        !std::holds_alternative<RequestError>(replies[0].reply)) {
      ADD_FAILURE() << "not refused";
      return {};
    }
    return std::get<RequestError>(replies[0].reply);
  }
  std::vector<float> Weights(size_t index = 0) const {
    return Values(shard_->state().weights(index));
  }
  static std::vector<float> Stepped(std::vector<float> weights, float grad) {
    for (float& weight : weights) {
      weight = weight - kRate * grad;
    }
    return weights;
  }

  std::shared_ptr<const ShardJob> job_;
  std::unique_ptr<Shard> shard_;
  Shard::Replies replies_;
};

TEST_F(ShardTest, AppliesAPushOfAllLeaves) {
  Start(TwoChunkJob());
  const std::vector<float> before = Weights();
  const auto acks = RepliesTo<PushAck>(1, Handle(1, Push(0, kRoot, 1, 2)));
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].version, 1);
  EXPECT_FALSE(acks[0].repeated);
  EXPECT_EQ(Weights(), Stepped(before, 2));
}

TEST_F(ShardTest, WaitsForAllLeavesThenAcknowledgesAll) {
  Start(TwoChunkJob());
  const std::vector<float> before = Weights();
  EXPECT_TRUE(Handle(1, Push(0, kLeft, 1, 2)).empty());
  EXPECT_EQ(Weights(), before);
  const Shard::Replies replies = Handle(2, Push(0, kRight, 1, 3));
  EXPECT_EQ(RepliesTo<PushAck>(1, replies).size(), 1u);
  EXPECT_EQ(RepliesTo<PushAck>(2, replies).size(), 1u);
  EXPECT_EQ(Weights(), Stepped(before, 5));
}

TEST_F(ShardTest, AnswersAPullWhenTheVersionIsThere) {
  Start(TwoChunkJob());
  const auto now = RepliesTo<ChunkValue>(2, Handle(2, ChunkPull{0, 0, 0}));
  ASSERT_EQ(now.size(), 1u);
  EXPECT_EQ(now[0].version, 0);
  EXPECT_TRUE(Handle(2, ChunkPull{0, 1, 0}).empty());
  const auto later = RepliesTo<ChunkValue>(2, Handle(1, Push(0, kRoot, 1, 2)));
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].version, 1);
  EXPECT_EQ(Values(later[0].weights), Weights());
  EXPECT_EQ(Values(later[0].weights), Stepped(Values(now[0].weights), 2))
      << "a version that was handed out never changes";
}

TEST_F(ShardTest, AnswersARepeatWithoutApplyingIt) {
  Start(TwoChunkJob());
  Handle(1, Push(0, kRoot, 1, 2));
  const std::vector<float> before = Weights();
  const auto acks = RepliesTo<PushAck>(2, Handle(2, Push(0, kLeft, 9, 7)));
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_TRUE(acks[0].repeated);
  EXPECT_EQ(acks[0].version, 1);
  EXPECT_EQ(Weights(), before);
}

TEST_F(ShardTest, KeepsTheNextStepAside) {
  Start(TwoChunkJob());
  const std::vector<float> before = Weights();
  EXPECT_TRUE(Handle(2, Push(1, kRoot, 1, 1)).empty());
  const Shard::Replies replies = Handle(1, Push(0, kRoot, 1, 2));
  EXPECT_EQ(RepliesTo<PushAck>(1, replies)[0].version, 1);
  EXPECT_EQ(RepliesTo<PushAck>(2, replies)[0].version, 2);
  EXPECT_EQ(Weights(), Stepped(Stepped(before, 2), 1));
  const RequestError error = Refusal(Handle(1, Push(4, kRoot, 2, 1)));
  EXPECT_EQ(error.reason, ErrorReason::kStepTooFar);
  EXPECT_EQ(error.status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ShardTest, KeepsTheVersionBeforeForWhoComesAnew) {
  Start(TwoChunkJob());
  const std::vector<float> first = Weights();
  Handle(1, Push(0, kRoot, 1, 2));
  const std::vector<float> second = Weights();
  const auto exactly = [](int64_t version) {
    return ChunkPull{0, version, 0, {}, /*exact=*/true};
  };
  for (const int64_t version : {0, 1}) {
    const auto values = RepliesTo<ChunkValue>(2, Handle(2, exactly(version)));
    ASSERT_EQ(values.size(), 1u);
    EXPECT_EQ(values[0].version, version);
    EXPECT_EQ(Values(values[0].weights), version == 0 ? first : second);
  }
  EXPECT_TRUE(Handle(2, exactly(2)).empty()) << "waits";
  const auto third = RepliesTo<ChunkValue>(2, Handle(1, Push(1, kRoot, 2, 3)));
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].version, 2);
  const RequestError gone = Refusal(Handle(2, exactly(0)));
  EXPECT_EQ(gone.reason, ErrorReason::kStepTooFar);
  EXPECT_EQ(gone.status.message(),
            "pull of chunk 0: exactly version 0 is gone, the chunk is at "
            "version 2 and has the one before");
}

TEST_F(ShardTest, ExactVersionsAreForWorkersInStep) {
  v1::ResolvedJob job = TwoChunkJob();
  job.mutable_job()->mutable_consistency()->set_mode(v1::CONSISTENCY_ASYNC);
  Start(job);
  EXPECT_EQ(Refusal(Handle(1, ChunkPull{0, 0, 0, {}, true})).status.code(),
            absl::StatusCode::kInvalidArgument);
}

// Another's client would train on, or wait, past the end of the job.
TEST_F(ShardTest, RefusesWhatLiesPastTheEnd) {
  v1::ResolvedJob job = TwoChunkJob();
  job.set_total_steps(1);
  Start(job);
  const RequestError ahead = Refusal(Handle(1, Push(1, kRoot, 1, 1)));
  EXPECT_EQ(ahead.status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ahead.reason, ErrorReason::kStepTooFar);
  EXPECT_NE(ahead.status.message().find("the job ends after 1 step"),
            std::string::npos)
      << ahead.status;
  EXPECT_TRUE(Handle(1, ChunkPull{0, 1, 0}).empty())
      << "waits for the last update";
  EXPECT_EQ(Refusal(Handle(1, ChunkPull{0, 2, 0})).status.code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(RepliesTo<ChunkValue>(1, Handle(1, Push(0, kRoot, 1, 2))).size(),
            1u);
  EXPECT_EQ(Refusal(Handle(1, Push(1, kRoot, 2, 1))).status.code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(ShardTest, RefusesNumbersThatCannotBeCounted) {
  v1::ResolvedJob job = TwoChunkJob();
  for (const v1::Consistency mode :
       {v1::CONSISTENCY_SYNC, v1::CONSISTENCY_ASYNC, v1::CONSISTENCY_BOUNDED}) {
    job.mutable_job()->mutable_consistency()->set_mode(mode);
    job.mutable_job()->mutable_consistency()->set_staleness(1);
    Start(job);
    for (const int64_t number : {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max()}) {
      EXPECT_EQ(Refusal(Handle(1, Push(number, kRoot, 1, 1))).status.code(),
                absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(Refusal(Handle(1, ChunkPull{0, 0, number})).status.code(),
                absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST_F(ShardTest, RefusesAnotherSize) {
  Start(TwoChunkJob());
  ChunkPush push = Push(0, kRoot, 1, 2);
  push.gradient = MakeSlice(std::vector<float>(kCount + 1, 0));
  const RequestError error = Refusal(Handle(1, push));
  EXPECT_EQ(error.reason, ErrorReason::kShapeMismatch);
  EXPECT_EQ(error.status,
            absl::InvalidArgumentError("push for tensor \"dense1/kernel\" "
                                       "chunk 0: 65 elements, chunk has 64"));
  EXPECT_EQ(error.sequence, 1);
}

TEST_F(ShardTest, RefusesWhatIsNotFinite) {
  Start(TwoChunkJob());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(kCount, 1);
    values[17] = bad;
    ChunkPush push = Push(0, kRoot, 1, 2);
    push.gradient = MakeWireSlice(values, 5, 3);
    EXPECT_EQ(Refusal(Handle(1, push)).reason, ErrorReason::kNotFinite);
    push.gradient = MakeSlice(values);
    const RequestError error = Refusal(Handle(1, push));
    EXPECT_EQ(error.reason, ErrorReason::kNotFinite);
    EXPECT_EQ(error.status,
              absl::InvalidArgumentError(absl::StrCat(
                  "push for tensor \"dense1/kernel\" chunk 0: element 17 of "
                  "the tensor is ",
                  bad)));
  }
  EXPECT_EQ(shard_->state().max_version(), 0);
}

TEST_F(ShardTest, AppliesWhatAnEncodedPushStandsFor) {
  Start(TwoChunkJob());
  const std::vector<float> before = Weights();
  ChunkPush push = Push(0, kRoot, 1, 2);
  push.encoding = GradientEncoding::kBfloat16;
  // A float of equal halves: 0x3f80, which is 1.
  uint32_t ones = 0x3f803f80;
  float word = 0;
  std::memcpy(&word, &ones, sizeof(word));
  push.gradient = MakeSlice(std::vector<float>(kCount / 2, word));
  EXPECT_EQ(RepliesTo<PushAck>(1, Handle(1, push)).size(), 1u);
  EXPECT_EQ(Weights(), Stepped(before, 1));
}

TEST_F(ShardTest, FindsWhatIsNotFiniteBehindAnEncoding) {
  Start(TwoChunkJob());
  ChunkPush push = Push(0, kRoot, 1, 2);
  push.encoding = GradientEncoding::kFloat16;
  // Infinity twice.
  uint32_t infinities = 0x7c007c00;
  float word = 0;
  std::memcpy(&word, &infinities, sizeof(word));
  push.gradient = MakeSlice(std::vector<float>(kCount / 2, word));
  EXPECT_EQ(Refusal(Handle(1, push)).reason, ErrorReason::kNotFinite);
  push.gradient = MakeSlice(std::vector<float>(3, 1));
  EXPECT_EQ(Refusal(Handle(1, push)).reason, ErrorReason::kShapeMismatch);
}

TEST_F(ShardTest, RefusesANodeThatIsNotInTheTree) {
  Start(TwoChunkJob());
  EXPECT_EQ(Refusal(Handle(1, Push(0, {2, 2}, 1, 2))).reason,
            ErrorReason::kShapeMismatch);
  EXPECT_EQ(Refusal(Handle(1, Push(-1, kRoot, 1, 2))).reason,
            ErrorReason::kShapeMismatch);
}

TEST_F(ShardTest, ALaterLifeOfAWorkerFencesTheEarlierOne) {
  Start(TwoChunkJob());
  shard_->OpenSession(3, {0, 99}, &replies_);
  const RequestError error = Refusal(Handle(1, Push(0, kRoot, 1, 2)));
  EXPECT_EQ(error.reason, ErrorReason::kStaleIncarnation);
  EXPECT_EQ(error.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(RepliesTo<PushAck>(3, Handle(3, Push(0, kRoot, 1, 2))).size(), 1u);
}

TEST_F(ShardTest, AnObserverMayOnlyPull) {
  Start(TwoChunkJob());
  shard_->OpenSession(3, {kObserverId, 5}, &replies_);
  EXPECT_EQ(RepliesTo<ChunkValue>(3, Handle(3, ChunkPull{1, 0, 0})).size(), 1u);
  EXPECT_EQ(Refusal(Handle(3, Push(0, kRoot, 1, 2))).status.code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ShardTest, AClosedSessionHearsNoMoreButItsPushCounts) {
  Start(TwoChunkJob());
  Handle(1, Push(0, kLeft, 1, 2));
  Handle(1, ChunkPull{0, 1, 0});
  shard_->CloseSession(1);
  EXPECT_EQ(shard_->waiting_pulls(), 0);
  const Shard::Replies replies = Handle(2, Push(0, kRight, 1, 3));
  EXPECT_EQ(replies.size(), 1u);
  EXPECT_EQ(RepliesTo<PushAck>(2, replies).size(), 1u);
  EXPECT_TRUE(Handle(1, ChunkPull{0, 0, 0}).empty());
}

TEST_F(ShardTest, NeedsNoNewMemoryForANewVersion) {
  Start(TwoChunkJob());
  std::set<const float*> buffers;
  for (int64_t step = 0; step < 10; ++step) {
    Handle(1, Push(step, kRoot, 1, 2));
    buffers.insert(shard_->state().weights(0).data());
  }
  EXPECT_EQ(buffers.size(), 2u) << "the version and the one before take turns";
}

TEST_F(ShardTest, CountsWhatItDoes) {
  Start(TwoChunkJob());
  Handle(1, Push(0, kRoot, 1, 2));
  Handle(1, Push(0, kRoot, 1, 2));
  Handle(1, Push(7, kRoot, 2, 2));
  Handle(1, ChunkPull{0, 0, 0});
  const ShardCounters& counters = shard_->counters();
  EXPECT_EQ(counters.pushes, 3);
  EXPECT_EQ(counters.push_bytes, 3 * kCount * 4);
  EXPECT_EQ(counters.repeated_pushes, 1);
  EXPECT_EQ(counters.refused, 1);
  EXPECT_EQ(counters.updates, 1);
  EXPECT_EQ(counters.pulls, 1);
  EXPECT_EQ(counters.pull_bytes, kCount * 4);
}

// Rounds: two chunks, clipped to a norm that the gradient exceeds.
class ShardRoundsTest : public ShardTest {
 protected:
  ShardRoundsTest() {
    v1::ResolvedJob resolved = TwoChunkJob();
    resolved.mutable_job()->mutable_optimizer()->set_clip_global_norm(1);
    Start(resolved);
  }
};

TEST_F(ShardRoundsTest, SendsPartialSumsToAllAndWaitsForTotals) {
  const std::vector<float> before = Weights();
  const Shard::Replies replies = Handle(1, Push(0, kRoot, 1, 2));
  for (const SessionId session : {1, 2}) {
    const auto partials = RepliesTo<ReductionPartials>(session, replies);
    ASSERT_EQ(partials.size(), 1u);
    EXPECT_EQ(partials[0].chunk, 0);
    EXPECT_EQ(partials[0].sums, std::vector<double>{kCount * 4.0});
  }
  EXPECT_TRUE(RepliesTo<PushAck>(1, replies).empty());
  EXPECT_EQ(Refusal(Handle(1, ReductionTotals{0, 0, 0, {1}})).reason,
            ErrorReason::kStepTooFar)
      << "chunk 1 is missing";
  Handle(1, Push(0, kRoot, 2, 2, /*chunk=*/1));
  const Shard::Replies done =
      Handle(2, ReductionTotals{0, 0, 0, {kCount * 8.0}});
  EXPECT_EQ(RepliesTo<PushAck>(1, done).size(), 2u);
  EXPECT_NE(Weights(), before);
  EXPECT_TRUE(Handle(1, ReductionTotals{0, 0, 0, {kCount * 8.0}}).empty())
      << "every worker sends them";
}

TEST_F(ShardRoundsTest, TellsALateSessionTheRoundInProgress) {
  Handle(1, Push(0, kRoot, 1, 2));
  Shard::Replies replies;
  shard_->OpenSession(4, {3, 5}, &replies);
  const auto partials = RepliesTo<ReductionPartials>(4, replies);
  ASSERT_EQ(partials.size(), 1u);
  EXPECT_EQ(partials[0].step, 0);
  shard_->OpenSession(5, {kObserverId, 5}, &replies);
  EXPECT_TRUE(RepliesTo<ReductionPartials>(5, replies).empty());
}

// Another shard may still wait for these totals, and all who knew them be dead.
TEST_F(ShardRoundsTest, TellsALateSessionTheRoundsOfTheStepBefore) {
  for (int64_t step = 0; step < 3; ++step) {
    Handle(1, Push(step, kRoot, 1, 2));
    Handle(1, Push(step, kRoot, 2, 2, /*chunk=*/1));
    Handle(1, ReductionTotals{step, 0, 0, {kCount * 8.0}});
  }
  Shard::Replies replies;
  shard_->OpenSession(4, {3, 5}, &replies);
  const auto partials = RepliesTo<ReductionPartials>(4, replies);
  ASSERT_EQ(partials.size(), 4u) << "of steps 1 and 2";
  EXPECT_EQ(partials.back().step, 2);
}

TEST_F(ShardRoundsTest, RefusesTotalsThatCannotBe) {
  Handle(1, Push(0, kRoot, 1, 2));
  Handle(1, Push(0, kRoot, 2, 2, /*chunk=*/1));
  EXPECT_EQ(Refusal(Handle(1, ReductionTotals{0, 0, 0, {1, 2}})).reason,
            ErrorReason::kShapeMismatch);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Refusal(Handle(1, ReductionTotals{0, 0, 0, {nan}})).reason,
            ErrorReason::kNotFinite);
  EXPECT_EQ(Refusal(Handle(1, ReductionTotals{3, 0, 0, {1}})).reason,
            ErrorReason::kStepTooFar);
}

}  // namespace
}  // namespace selari
