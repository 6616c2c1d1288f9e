// The log of a real shard, written, read and replayed, gives its state to the
// bit.

#include "server/log/journal_replay.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "gtest/gtest.h"
#include "server/log/journal_reader.h"
#include "server/log/journal_test_util.h"
#include "server/shard/shard_state.h"
#include "server/shard/shard_test_util.h"

namespace selari {
namespace {

// Chunks of several blocks, of odd sizes, and of one element.
const Tensors kTensors = {{"a", 5001}, {"b", 1}, {"c", 333}};

// The state after a replay of `log` from its snapshot.
std::string FromSnapshot(FaultFileEnv* env, const RecordedLog& log) {
  auto state = ShardState::FromSnapshot(log.job, log.snapshot);
  EXPECT_TRUE(state.ok()) << state.status();
  const auto contents =
      ReadJournal(*env, "j", log.id(), log.snapshot.log_sequence,
                  [&state](int64_t, const ShardOp& op) {
                    return ReplayOp(op, state->get()).status();
                  });
  EXPECT_TRUE(contents.ok()) << contents.status();
  return Fingerprint(**state);
}

void ExpectSameState(FaultFileEnv* env, const RecordedLog& log) {
  ASSERT_GE(log.ops.size(), 4u);
  WriteJournal(env, "j", log, /*group=*/3);
  const Replayed replayed = ReplayJournal(env, "j", log);
  ASSERT_TRUE(replayed.contents.ok()) << replayed.contents.status();
  EXPECT_EQ(replayed.contents->next_sequence,
            static_cast<int64_t>(log.ops.size()));
  EXPECT_FALSE(replayed.contents->torn_tail.has_value());
  EXPECT_EQ(replayed.fingerprint, log.end);
  EXPECT_EQ(FromSnapshot(env, log), log.end);
}

class SyncReplayTest : public testing::TestWithParam<std::string> {};

TEST_P(SyncReplayTest, GivesTheSameBits) {
  FaultFileEnv env;
  for (const RecordedLog& log :
       RecordSync(GetParam(), kTensors, /*shards=*/3, /*steps=*/4)) {
    ExpectSameState(&env, log);
  }
}

// A capture may begin when a part of the next step is in the log already, and
// end when chunks are at two versions: its place in the log is early enough,
// and not simply the beginning.
TEST_P(SyncReplayTest, ASnapshotKnowsWhereTheLogGoesOnFromIt) {
  int64_t later_than_first = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    FaultFileEnv env;
    for (const RecordedLog& log :
         RecordSync(GetParam(), kTensors, /*shards=*/3, /*steps=*/4, seed)) {
      WriteJournal(&env, "j", log, /*group=*/3);
      EXPECT_EQ(FromSnapshot(&env, log), log.end) << "seed " << seed;
      later_than_first += log.snapshot.log_sequence > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(later_than_first, 30 * 3);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SyncReplayTest,
                         testing::Values("sgd", "adam", "clipped_momentum",
                                         "clipped_lamb"),
                         [](const auto& info) { return info.param; });

TEST(OrderedReplayTest, GivesTheSameBits) {
  for (const v1::Consistency mode :
       {v1::CONSISTENCY_BOUNDED, v1::CONSISTENCY_ASYNC}) {
    FaultFileEnv env;
    ExpectSameState(&env, RecordOrdered(mode, kTensors, /*clocks=*/4));
  }
}

class BadOpTest : public testing::Test {
 protected:
  void Expect(const RecordedLog& log, const ShardOp& op,
              absl::string_view words) {
    const auto state = ShardState::Initial(log.job, 0);
    const std::string before = Fingerprint(*state);
    const absl::Status status = ReplayOp(op, state.get()).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), words)) << status;
    EXPECT_EQ(Fingerprint(*state), before);
  }
  ReducedGradient Gradient(int64_t count) {
    return ReducedGradient(
        MakeSlice(std::vector<float>(static_cast<size_t>(count), 1.0f)));
  }

  const RecordedLog sync_ =
      RecordSync("clipped_momentum", {{"a", 3}, {"b", 5}}, 1, 1)[0];
  const RecordedLog async_ =
      RecordOrdered(v1::CONSISTENCY_ASYNC, {{"a", 3}, {"b", 5}}, 2);
};

TEST_F(BadOpTest, OpOfAnotherChunkStepOrSizeIsDataLoss) {
  Expect(sync_, ReducedOp{2, 0, Gradient(3)}, "does not have");
  Expect(sync_, ReducedOp{0, 0, Gradient(5)}, "must be 3");
  Expect(sync_, ReducedOp{0, 1, Gradient(3)}, "in between are missing");
  Expect(sync_, TotalsOp{0, 0, {1}}, "waits for gradients");
  Expect(sync_, async_.ops[0], "another consistency mode");
  Expect(async_, sync_.ops[0], "another consistency mode");
  Expect(async_, PushOp{0, {1, 7}, 2, 0, Gradient(3)}, "must be push 1");
  Expect(async_, PushOp{0, {1, 7}, 1, INT64_MAX, Gradient(3)}, "clock");
  Expect(async_, PushOp{0, {1, 7}, 1, 0, Gradient(4)}, "must be 3");
}

TEST_F(BadOpTest, GradientThatWaitsForTotalsComesOnce) {
  const auto state = ShardState::Initial(sync_.job, 0);
  EXPECT_TRUE(*ReplayOp(ReducedOp{0, 0, Gradient(3)}, state.get()));
  EXPECT_TRUE(absl::IsDataLoss(
      ReplayOp(ReducedOp{0, 0, Gradient(3)}, state.get()).status()));
}

}  // namespace
}  // namespace selari
