// BOUNDED and ASYNC.

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "server/shard/shard.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kCount = 32;
constexpr int32_t kWorkers = 3;
constexpr int32_t kStaleness = 2;
constexpr float kRate = 0.1f;

std::shared_ptr<const ShardJob> OrderedJob(v1::Consistency mode) {
  v1::ResolvedJob resolved = MakeTestJob({{"w", kCount}, {"b", kCount}});
  v1::Job& job = *resolved.mutable_job();
  job.mutable_cluster()->set_shard_count(1);
  job.mutable_cluster()->set_workers(kWorkers);
  job.mutable_consistency()->set_mode(mode);
  if (mode == v1::CONSISTENCY_BOUNDED) {
    job.mutable_consistency()->set_staleness(kStaleness);
  }
  return CreateJobOrDie(resolved);
}

ChunkPush Push(int32_t chunk, int64_t clock, int64_t sequence,
               float value = 1) {
  ChunkPush push;
  push.chunk = chunk;
  push.step = clock;
  push.sequence = sequence;
  push.gradient = MakeSlice(std::vector<float>(kCount, value));
  return push;
}

class OrderedShardTest : public testing::Test {
 protected:
  void Start(v1::Consistency mode) {
    shard_ = std::make_unique<Shard>(
        ShardState::Initial(OrderedJob(mode), 0),
        [this](const ShardOp& op) { ops_.push_back(op); });
    for (int32_t worker = 0; worker < kWorkers; ++worker) {
      Shard::Replies replies;
      shard_->OpenSession(worker, {worker, 10u + worker}, &replies);
    }
  }
  Shard::Replies Handle(SessionId session, ShardRequest request) {
    Shard::Replies replies;
    shard_->Handle(session, std::move(request), &replies);
    return replies;
  }
  // The acknowledgement of a push that is answered at once.
  PushAck Ack(SessionId session, ChunkPush push) {
    const auto acks = RepliesTo<PushAck>(session, Handle(session, push));
    EXPECT_EQ(acks.size(), 1u);
    return acks.empty() ? PushAck() : acks[0];
  }
  ErrorReason Reason(const Shard::Replies& replies) {
    const bool refused = replies.size() == 1 &&
                         std::holds_alternative<RequestError>(replies[0].reply);
    EXPECT_TRUE(refused);
    return refused ? std::get<RequestError>(replies[0].reply).reason
                   : ErrorReason::kUnspecified;
  }

  std::vector<ShardOp> ops_;
  std::unique_ptr<Shard> shard_;
};

TEST_F(OrderedShardTest, AppliesEachPushOnArrival) {
  Start(v1::CONSISTENCY_ASYNC);
  std::vector<float> expected = Values(shard_->state().weights(0));
  EXPECT_EQ(Ack(0, Push(0, 0, 1, 2)).version, 1);
  EXPECT_EQ(Ack(1, Push(0, 0, 1, 3)).version, 2);
  for (float& weight : expected) {
    weight = weight - kRate * 2;
    weight = weight - kRate * 3;
  }
  EXPECT_EQ(Values(shard_->state().weights(0)), expected);
}

TEST_F(OrderedShardTest, ARepeatIsAnsweredAndAGapRefused) {
  Start(v1::CONSISTENCY_ASYNC);
  Ack(0, Push(0, 0, 1));
  const PushAck repeat = Ack(0, Push(0, 0, 1));
  EXPECT_TRUE(repeat.repeated);
  EXPECT_EQ(repeat.version, 1);
  const Shard::Replies replies = Handle(0, Push(1, 0, 3));
  EXPECT_EQ(Reason(replies), ErrorReason::kSequenceGap);
  EXPECT_EQ(std::get<RequestError>(replies[0].reply).status.code(),
            absl::StatusCode::kAborted);
  EXPECT_FALSE(Ack(0, Push(1, 0, 2)).repeated);
}

TEST_F(OrderedShardTest, ARefusedPushLeavesItsSequenceFree) {
  Start(v1::CONSISTENCY_ASYNC);
  ChunkPush wrong = Push(0, 0, 1);
  wrong.gradient = MakeSlice({1, 2, 3});
  EXPECT_EQ(Reason(Handle(0, wrong)), ErrorReason::kShapeMismatch);
  EXPECT_FALSE(Ack(0, Push(0, 0, 1)).repeated);
}

TEST_F(OrderedShardTest, ANewLifeOfAWorkerDoesNotApplyAClockTwice) {
  Start(v1::CONSISTENCY_ASYNC);
  Ack(0, Push(0, 0, 1));
  Ack(0, Push(1, 0, 2));
  Ack(0, Push(0, 1, 3));
  Shard::Replies replies;
  shard_->OpenSession(9, {0, 999}, &replies);
  EXPECT_EQ(Reason(Handle(0, Push(1, 1, 4))), ErrorReason::kStaleIncarnation);
  const PushAck done_before = Ack(9, Push(0, 1, 1));
  EXPECT_TRUE(done_before.repeated);
  EXPECT_EQ(done_before.version, 2);
  EXPECT_FALSE(Ack(9, Push(1, 1, 2)).repeated);
}

TEST_F(OrderedShardTest, TheOpsAloneGiveTheSameState) {
  Start(v1::CONSISTENCY_ASYNC);
  for (int64_t i = 0; i < 30; ++i) {
    Handle(i % 3, Push(i % 2, i / 6, 1 + i / 3, 0.5f + i));
  }
  const auto replayed =
      ShardState::Initial(OrderedJob(v1::CONSISTENCY_ASYNC), 0);
  ApplyEffects effects;
  for (const ShardOp& op : ops_) {
    replayed->Apply(op, &effects);
  }
  EXPECT_EQ(replayed->Digest(), shard_->state().Digest());
}

TEST_F(OrderedShardTest, ASnapshotKeepsTheClocks) {
  Start(v1::CONSISTENCY_ASYNC);
  Ack(0, Push(0, 0, 1));
  Ack(1, Push(0, 0, 1));
  std::optional<ShardSnapshot> snapshot;
  Shard::Replies replies;
  shard_->Capture(
      -1, /*stop=*/false,
      [&](absl::StatusOr<ShardSnapshot> result) {
        snapshot = *std::move(result);
      },
      &replies);
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->workers.size(), 2u);
  Ack(0, Push(1, 0, 2));
  auto restored =
      ShardState::FromSnapshot(OrderedJob(v1::CONSISTENCY_ASYNC), *snapshot);
  ASSERT_TRUE(restored.ok());
  Shard shard(*std::move(restored));
  shard.OpenSession(5, {0, 10}, &replies);
  shard.Handle(5, Push(0, 0, 1), &replies);
  shard.Handle(5, Push(1, 0, 2), &replies);
  const auto acks = RepliesTo<PushAck>(5, replies);
  ASSERT_EQ(acks.size(), 2u);
  EXPECT_TRUE(acks[0].repeated);
  EXPECT_FALSE(acks[1].repeated);
}

TEST_F(OrderedShardTest, APullWaitsForTheSlowestWorker) {
  Start(v1::CONSISTENCY_BOUNDED);
  EXPECT_EQ(Handle(0, ChunkPull{0, 0, kStaleness}).size(), 1u);
  EXPECT_TRUE(Handle(0, ChunkPull{0, 0, kStaleness + 1}).empty());
  for (int32_t worker = 0; worker < kWorkers; ++worker) {
    EXPECT_TRUE(
        RepliesTo<ChunkValue>(0, Handle(worker, Push(0, 0, 1))).empty());
    const auto values = RepliesTo<ChunkValue>(0, Handle(worker, Push(1, 0, 2)));
    EXPECT_EQ(values.size(), worker == kWorkers - 1 ? 1u : 0u)
        << "a step is done when all chunks have it";
  }
}

TEST_F(OrderedShardTest, AWorkerThatLeftHoldsNobodyBack) {
  Start(v1::CONSISTENCY_BOUNDED);
  for (const int32_t worker : {0, 1}) {
    Ack(worker, Push(0, 0, 1));
    Ack(worker, Push(1, 0, 2));
  }
  EXPECT_TRUE(Handle(0, ChunkPull{1, 0, kStaleness + 1}).empty());
  Shard::Replies replies;
  shard_->SetWorkers({0, 1}, &replies);
  EXPECT_EQ(RepliesTo<ChunkValue>(0, replies).size(), 1u);
}

TEST_F(OrderedShardTest, StopRefusesAtOnce) {
  Start(v1::CONSISTENCY_BOUNDED);
  Ack(0, Push(0, 0, 1));
  Handle(0, ChunkPull{0, 0, 9});
  Shard::Replies replies;
  shard_->Capture(
      -1, /*stop=*/true,
      [](const absl::StatusOr<ShardSnapshot>& result) {
        EXPECT_TRUE(result.ok());
      },
      &replies);
  EXPECT_EQ(Reason(replies), ErrorReason::kJobStopped);
  EXPECT_EQ(Reason(Handle(0, Push(1, 0, 2))), ErrorReason::kJobStopped);
  EXPECT_TRUE(Ack(0, Push(0, 0, 1)).repeated) << "it was applied";
  shard_->Capture(
      5, /*stop=*/false,
      [](const absl::StatusOr<ShardSnapshot>& result) {
        EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
      },
      &replies);
}

// Random workers, some much faster than others, over a network that keeps the
// order of one connection and breaks it now and then. Each pull that is
// answered notes the clocks of all workers at that moment.
class ClockRecorder {
 public:
  explicit ClockRecorder(v1::Consistency mode)
      : key_(MakeRandomKey(5, RandomStream::kTest)),
        shard_(ShardState::Initial(OrderedJob(mode), 0)),
        workers_(kWorkers) {
    for (int32_t worker = 0; worker < kWorkers; ++worker) {
      Connect(worker);
    }
  }

  // The furthest that a worker computed ahead of the slowest.
  int64_t Run(int64_t steps) {
    int64_t ahead = 0;
    while (std::any_of(workers_.begin(), workers_.end(),
                       [&](const Worker& w) { return w.clock < steps; })) {
      const int32_t index = Random(8) == 0 ? Random(kWorkers) : 0;
      Worker& worker = workers_[index];
      if (Random(20) == 0) {
        Connect(index);
      } else if (!worker.sent.empty()) {
        DeliverFirst(index);
      } else if (worker.values == 2 && worker.clock < steps) {
        int64_t slowest = worker.clock;
        for (const Worker& other : workers_) {
          slowest = std::min(slowest, other.clock);
        }
        ahead = std::max(ahead, worker.clock - slowest);
        Advance(index);
      }
    }
    return ahead;
  }

 private:
  struct Worker {
    SessionId session = 0;
    int64_t clock = 0;     // steps it computed and pushed
    int64_t sequence = 0;  // last push
    int values = 0;        // chunks that came for this clock
    std::vector<ChunkPush> unacked;
    std::deque<ShardRequest> sent;
  };

  int32_t Random(uint32_t bound) {
    return static_cast<int32_t>(RandomWord(key_, count_++) % bound);
  }
  void Connect(int32_t index) {
    Worker& worker = workers_[index];
    Shard::Replies replies;
    shard_.CloseSession(worker.session);
    worker.session = ++last_session_;
    shard_.OpenSession(worker.session, {index, 10u + index}, &replies);
    worker.sent.assign(worker.unacked.begin(), worker.unacked.end());
    Pull(index);
  }
  void Pull(int32_t index) {
    Worker& worker = workers_[index];
    worker.values = 0;
    worker.sent.push_back(ChunkPull{0, 0, worker.clock});
    worker.sent.push_back(ChunkPull{1, 0, worker.clock});
  }
  void Advance(int32_t index) {
    Worker& worker = workers_[index];
    for (const int32_t chunk : {0, 1}) {
      worker.unacked.push_back(Push(chunk, worker.clock, ++worker.sequence));
      worker.sent.push_back(worker.unacked.back());
    }
    ++worker.clock;
    Pull(index);
  }
  void DeliverFirst(int32_t index) {
    Shard::Replies replies;
    shard_.Handle(workers_[index].session,
                  std::move(workers_[index].sent.front()), &replies);
    workers_[index].sent.pop_front();
    for (const Shard::Reply& reply : replies) {
      for (Worker& worker : workers_) {
        if (worker.session != reply.session) {
          continue;
        }
        if (const auto* ack = std::get_if<PushAck>(&reply.reply)) {
          worker.unacked.erase(
              std::remove_if(worker.unacked.begin(), worker.unacked.end(),
                             [ack](const ChunkPush& push) {
                               return push.sequence == ack->sequence;
                             }),
              worker.unacked.end());
        } else {
          ASSERT_TRUE(std::holds_alternative<ChunkValue>(reply.reply));
          ++worker.values;
        }
      }
    }
  }

  const RandomKey key_;
  uint64_t count_ = 0;
  SessionId last_session_ = 0;
  Shard shard_;
  std::vector<Worker> workers_;
};

TEST(Staleness, NeverExceedsTheBound) {
  EXPECT_EQ(ClockRecorder(v1::CONSISTENCY_BOUNDED).Run(60), kStaleness)
      << "fast workers reach the bound and never pass it";
}

// So the check above can fail.
TEST(Staleness, IsNotBoundedInAsync) {
  EXPECT_GT(ClockRecorder(v1::CONSISTENCY_ASYNC).Run(60), 10 * kStaleness);
}

}  // namespace
}  // namespace selari
