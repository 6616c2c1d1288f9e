// Shards that keep journals, on a disk that fails and a machine that dies: what
// was acknowledged is there again, once.

#include "server/shard_control/journaled_seats.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "common/error_reason.h"
#include "common/fault_file_env.h"
#include "common/mutex.h"
#include "common/notification.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "server/log/journal_files.h"
#include "server/shard/shard_host.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kCells = 12;
constexpr int32_t kShards = 3;
const std::string kDir = "/out/journals";

v1::ResolvedJob SmallJob(v1::Consistency mode) {
  v1::ResolvedJob job = MakeTestJob({{"w", kCells}, {"v", 2 * kCells}});
  job.mutable_job()->mutable_cluster()->set_shard_count(kShards);
  job.mutable_job()->mutable_consistency()->set_mode(mode);
  job.mutable_job()->mutable_optimizer()->set_learning_rate(1);
  for (v1::TensorSpec& tensor : *job.mutable_tensors()) {
    tensor.mutable_initializer()->set_normal_stddev(0);
  }
  return job;
}

// What came back, by (shard, sequence) of pushes.
class Answers : public ReplySink {
 public:
  explicit Answers(const ChunkLayout* layout) : layout_(*layout) {}

  void OnReplies(std::vector<ShardReply> replies) override {
    MutexLock lock(&mu_);
    for (ShardReply& reply : replies) {
      if (const auto* ack = std::get_if<PushAck>(&reply)) {
        acks_[{layout_.chunk(ack->chunk).shard, ack->sequence}] = *ack;
      } else if (auto* error = std::get_if<RequestError>(&reply)) {
        errors_.push_back(std::move(*error));
      } else if (auto* value = std::get_if<ChunkValue>(&reply)) {
        values_[value->chunk] = Values(value->weights);
      }
    }
    changed_.NotifyAll();
  }
  // Waits until `done`, called with the lock, is true.
  template <typename Done>
  void WaitUntil(const Done& done) {
    MutexLock lock(&mu_);
    while (!done(this)) {
      changed_.Wait(&mu_);
    }
  }
  std::map<std::pair<int32_t, int64_t>, PushAck> acks() {
    MutexLock lock(&mu_);
    return acks_;
  }
  std::vector<RequestError> errors() {
    MutexLock lock(&mu_);
    return errors_;
  }
  size_t answer_count() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return acks_.size() + errors_.size();
  }
  size_t value_count() ABSL_NO_THREAD_SAFETY_ANALYSIS { return values_.size(); }
  std::map<int32_t, std::vector<float>> values() {
    MutexLock lock(&mu_);
    return values_;
  }

 private:
  const ChunkLayout& layout_;
  Mutex mu_;
  CondVar changed_;
  std::map<std::pair<int32_t, int64_t>, PushAck> acks_ ABSL_GUARDED_BY(mu_);
  std::vector<RequestError> errors_ ABSL_GUARDED_BY(mu_);
  std::map<int32_t, std::vector<float>> values_ ABSL_GUARDED_BY(mu_);
};

class JournaledSeatsTest : public ::testing::Test {
 protected:
  // A server's life. Its snapshots are the newest checkpoint's.
  absl::Status Begin(bool recover) {
    ShardHost::Options options;
    options.run_in_submit_bytes_max = 1 << 20;  // must not be heeded
    host_ = ShardHost::Create(options);
    return host_->Host(job_, JournaledSeats(job_, {0, 1, 2}, checkpoint_,
                                            {&env_, kDir, recover}, &totals_));
  }
  void Connect() {
    answers_ = std::make_shared<Answers>(&job_->layout);
    session_ = host_->Connect({0, 77}, answers_);
  }
  // The process is killed, or its machine dies: then what was not synced goes.
  void Die(bool machine, uint64_t seed) {
    host_.reset();
    if (machine) {
      env_.Crash({seed});
    } else {
      env_.ClearFaults();
    }
  }
  std::vector<float> Weights() {
    auto sink = std::make_shared<Answers>(&job_->layout);
    const auto session = host_->Connect({kObserverId, 1}, sink);
    std::vector<ShardRequest> pulls;
    for (const ChunkSpec& chunk : job_->layout.chunks()) {
      pulls.emplace_back(ChunkPull{chunk.chunk, 0, 0, {}});
    }
    const size_t count = pulls.size();
    host_->Submit(session, std::move(pulls));
    sink->WaitUntil(
        [count](Answers* answers) { return answers->value_count() == count; });
    host_->Disconnect(session);
    std::vector<float> weights;
    for (const auto& [chunk, values] : sink->values()) {
      weights.insert(weights.end(), values.begin(), values.end());
    }
    return weights;
  }
  std::vector<ShardSnapshot> Capture(int64_t step) {
    Notification captured;
    std::vector<ShardSnapshot> snapshots;
    host_->Capture(step, /*stop=*/false,
                   [&](absl::StatusOr<std::vector<ShardSnapshot>> result) {
                     EXPECT_TRUE(result.ok()) << result.status();
                     snapshots = *std::move(result);
                     captured.Notify();
                   });
    captured.Wait();
    return snapshots;
  }
  absl::Status Trim(const std::vector<ShardSnapshot>& snapshots) {
    std::map<int32_t, int64_t> sequences;
    for (const ShardSnapshot& snapshot : snapshots) {
      sequences[snapshot.shard] = snapshot.log_sequence;
    }
    Notification trimmed;
    absl::Status status;
    host_->TrimLogs(sequences, [&](const absl::Status& result) {
      status = result;
      trimmed.Notify();
    });
    trimmed.Wait();
    return status;
  }
  size_t FileCount(int32_t shard) {
    return ListJournalFiles(env_, kDir, shard)->size();
  }

  FaultFileEnv env_;
  JournalTotals totals_;
  std::shared_ptr<const ShardJob> job_;
  std::vector<ShardSnapshot> checkpoint_;
  std::unique_ptr<ShardHost> host_;
  std::shared_ptr<Answers> answers_;
  ShardHost::SessionId session_ = 0;
};

// ASYNC. Push k adds 1 to cell k of the model.
class LedgerTest : public JournaledSeatsTest {
 protected:
  LedgerTest() { job_ = CreateJobOrDie(SmallJob(v1::CONSISTENCY_ASYNC)); }

  // All cells once, in some order.
  void MakePushes(const RandomKey& key) {
    std::vector<std::pair<int32_t, int64_t>> cells;
    for (const ChunkSpec& chunk : job_->layout.chunks()) {
      for (int64_t i = 0; i < chunk.count; ++i) {
        cells.emplace_back(chunk.chunk, i);
      }
    }
    for (size_t i = cells.size(); i > 1; --i) {
      std::swap(cells[i - 1], cells[RandomWord(key, i) % i]);
    }
    for (const auto& [chunk, cell] : cells) {
      const ChunkSpec& spec = job_->layout.chunk(chunk);
      std::vector<float> gradient(static_cast<size_t>(spec.count), 0);
      gradient[static_cast<size_t>(cell)] = -1;
      ChunkPush push;
      push.chunk = chunk;
      push.step = static_cast<int64_t>(pushes_[spec.shard].size());
      push.sequence = push.step + 1;
      push.gradient = MakeSlice(gradient);
      pushes_[spec.shard].push_back(push);
    }
  }
  // Sends what is not acknowledged, up to `count` for each shard.
  size_t Send(size_t count) {
    std::vector<ShardRequest> requests;
    for (const auto& [shard, pushes] : pushes_) {
      size_t sent = 0;
      for (const ChunkPush& push : pushes) {
        if (acknowledged_.count({shard, push.sequence}) == 0 && sent < count) {
          requests.emplace_back(push);
          ++sent;
        }
      }
    }
    const size_t sent = requests.size();
    host_->Submit(session_, std::move(requests));
    return sent;
  }
  void NoteAcks() {
    for (const auto& [name, ack] : answers_->acks()) {
      EXPECT_TRUE(ack.journaled);
      acknowledged_.insert(name);
    }
  }

  std::map<int32_t, std::vector<ChunkPush>> pushes_;  // by shard
  std::set<std::pair<int32_t, int64_t>> acknowledged_;
};

TEST_F(LedgerTest, EachPushCountsOnceWhateverDies) {
  int recovered = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomKey key = MakeRandomKey(seed, RandomStream::kTest, /*a=*/3);
    uint64_t draw = 1000;
    const auto random = [&](uint32_t bound) {
      return RandomWord(key, draw++) % bound;
    };
    env_.Crash({0});
    checkpoint_.clear();
    pushes_.clear();
    acknowledged_.clear();
    MakePushes(key);
    const size_t all = job_->layout.floats();
    ASSERT_TRUE(Begin(/*recover=*/false).ok());
    for (int life = 0; acknowledged_.size() < all; ++life) {
      ASSERT_LT(life, 200);
      Connect();
      if (random(2) == 0) {
        FaultFileEnv::Failure failure;
        failure.call = random(30);
        failure.permanent = true;
        env_.FailCall(failure);
      }
      if (random(3) == 0 && !env_.fault_hit()) {
        const std::vector<ShardSnapshot> snapshots = Capture(-1);
        // A checkpoint that is not published is no base.
        if (random(2) == 0) {
          checkpoint_ = snapshots;
          Trim(checkpoint_).IgnoreError();
        }
      }
      const size_t sent = Send(1 + random(4));
      const size_t wait = random(static_cast<uint32_t>(sent) + 1);
      answers_->WaitUntil(
          [wait](Answers* answers) { return answers->answer_count() >= wait; });
      NoteAcks();
      Die(/*machine=*/random(2) == 0,
          seed * 1000 + static_cast<uint64_t>(life));
      // Told just before the end.
      NoteAcks();
      const absl::Status begun = Begin(/*recover=*/true);
      ASSERT_TRUE(begun.ok()) << begun << " seed " << seed;
      ++recovered;
      for (const float weight : Weights()) {
        ASSERT_TRUE(weight == 0 || weight == 1) << weight << " seed " << seed;
      }
    }
    for (const float weight : Weights()) {
      ASSERT_EQ(weight, 1) << "seed " << seed;
    }
    Die(/*machine=*/true, 0);
  }
  EXPECT_GT(recovered, 1000);
}

TEST_F(LedgerTest, AShardWhoseDiskFailsTakesNoMoreAndSaysWhy) {
  MakePushes(MakeRandomKey(1, RandomStream::kTest, /*a=*/3));
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Connect();
  env_.SetCapacityBytes(0);
  const size_t sent = Send(2);
  answers_->WaitUntil(
      [sent](Answers* answers) { return answers->answer_count() >= sent; });
  EXPECT_EQ(answers_->acks().size(), 0u);
  ASSERT_EQ(answers_->errors().size(), sent);
  for (const RequestError& error : answers_->errors()) {
    EXPECT_EQ(error.reason, ErrorReason::kShardFailed);
    EXPECT_TRUE(absl::IsResourceExhausted(error.status)) << error.status;
    EXPECT_TRUE(absl::StrContains(error.status.message(),
                                  "takes no more updates, as its journal "
                                  "cannot be written"))
        << error.status;
    EXPECT_EQ(error.retry_after_ms, 0);
    EXPECT_GE(error.sequence, 1);
  }
  // Room again does not help: what is in the file is unknown.
  env_.ClearFaults();
  Connect();
  const size_t again = Send(2);
  answers_->WaitUntil(
      [again](Answers* answers) { return answers->answer_count() >= again; });
  EXPECT_EQ(answers_->acks().size(), 0u);
  Notification captured;
  host_->Capture(-1, false, [&](const auto& result) {
    EXPECT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
    captured.Notify();
  });
  captured.Wait();
  // A new life has what was acknowledged: nothing.
  Die(/*machine=*/false, 0);
  ASSERT_TRUE(Begin(/*recover=*/true).ok());
  for (const float weight : Weights()) {
    EXPECT_EQ(weight, 0);
  }
}

// It is cut off, not dead, and its clients have not heard of the change.
TEST_F(LedgerTest, AServerThatWasReplacedAcknowledgesNothing) {
  MakePushes(MakeRandomKey(1, RandomStream::kTest, /*a=*/3));
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Connect();
  size_t sent = Send(2);
  answers_->WaitUntil(
      [sent](Answers* answers) { return answers->answer_count() >= sent; });
  NoteAcks();
  EXPECT_EQ(acknowledged_.size(), sent);
  std::unique_ptr<ShardHost> other = std::move(host_);
  ASSERT_TRUE(Begin(/*recover=*/true).ok());
  const std::vector<float> recovered = Weights();

  std::swap(host_, other);
  sent += Send(2);
  answers_->WaitUntil(
      [sent](Answers* answers) { return answers->answer_count() >= sent; });
  EXPECT_EQ(answers_->acks().size(), acknowledged_.size());
  for (const RequestError& error : answers_->errors()) {
    EXPECT_EQ(error.reason, ErrorReason::kWrongShard);
    EXPECT_TRUE(absl::IsUnavailable(error.status)) << error.status;
    EXPECT_GT(error.retry_after_ms, 0) << "until its client knows the new one";
  }
  std::swap(host_, other);
  EXPECT_EQ(Weights(), recovered);

  // What the old one wrote in the end is not taken for the new one's.
  Connect();
  const size_t again = Send(1);
  answers_->WaitUntil(
      [again](Answers* answers) { return answers->answer_count() >= again; });
  NoteAcks();
  const std::vector<float> last = Weights();
  Die(/*machine=*/true, 0);
  ASSERT_TRUE(Begin(/*recover=*/true).ok());
  EXPECT_EQ(Weights(), last);
}

TEST_F(LedgerTest, AMissingJournalIsDataLoss) {
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Die(/*machine=*/false, 0);
  ASSERT_TRUE(RemoveAllJournalFiles(env_, kDir, 1).ok());
  const absl::Status status = Begin(/*recover=*/true);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "journal of shard 1"))
      << status;
}

TEST_F(LedgerTest, AFreshBeginningForgetsOldJournals) {
  MakePushes(MakeRandomKey(1, RandomStream::kTest, /*a=*/3));
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Connect();
  const size_t sent = Send(1);
  answers_->WaitUntil(
      [sent](Answers* answers) { return answers->answer_count() >= sent; });
  // Not even the process ends: the job goes back.
  ASSERT_TRUE(host_
                  ->Host(job_, JournaledSeats(job_, {0, 1, 2}, {},
                                              {&env_, kDir, false}, &totals_))
                  .ok());
  Die(/*machine=*/true, 0);
  ASSERT_TRUE(Begin(/*recover=*/true).ok());
  for (const float weight : Weights()) {
    EXPECT_EQ(weight, 0);
  }
}

TEST_F(LedgerTest, ATrimLetsGoOfWhatACheckpointHas) {
  MakePushes(MakeRandomKey(1, RandomStream::kTest, /*a=*/3));
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Connect();
  for (int i = 0; i < 4; ++i) {
    const size_t before = answers_->acks().size();
    const size_t sent = Send(1);
    answers_->WaitUntil([&](Answers* answers) {
      return answers->answer_count() >= before + sent;
    });
    NoteAcks();
    checkpoint_ = Capture(-1);
    ASSERT_TRUE(Trim(checkpoint_).ok());
    EXPECT_LE(FileCount(0), 2u);
  }
  Die(/*machine=*/true, 0);
  ASSERT_TRUE(Begin(/*recover=*/true).ok());
  float sum = 0;
  for (const float weight : Weights()) {
    sum += weight;
  }
  EXPECT_EQ(sum, static_cast<float>(acknowledged_.size()));
  EXPECT_EQ(totals_.applied, 0);
}

// SYNC: a worker that sends again what is not acknowledged.
class SyncJournalTest : public JournaledSeatsTest {
 protected:
  SyncJournalTest() {
    v1::ResolvedJob job = SmallJob(v1::CONSISTENCY_SYNC);
    job.mutable_job()->mutable_optimizer()->mutable_adam();
    job_ = CreateJobOrDie(job);
  }
  ChunkPush PushOf(const ChunkSpec& chunk, int64_t step) const {
    std::vector<float> gradient;
    for (int64_t i = 0; i < chunk.count; ++i) {
      gradient.push_back(std::sin(static_cast<float>(
          static_cast<int64_t>(chunk.chunk) * 100 + step * 10 + i)));
    }
    ChunkPush push;
    push.chunk = chunk.chunk;
    push.step = step;
    push.node = {3, 0};
    push.sequence = step * static_cast<int64_t>(
                               job_->layout.ChunksOfShard(chunk.shard).size()) +
                    chunk.chunk -
                    job_->layout.ChunksOfShard(chunk.shard)[0].chunk + 1;
    push.gradient = MakeSlice(gradient);
    return push;
  }
  // All chunks of a step, some of which may be applied.
  void PushStep(int64_t step, bool wait) {
    std::vector<ShardRequest> requests;
    for (const ChunkSpec& chunk : job_->layout.chunks()) {
      requests.emplace_back(PushOf(chunk, step));
    }
    const size_t before = answers_->acks().size();
    const size_t count = requests.size();
    host_->Submit(session_, std::move(requests));
    if (wait) {
      answers_->WaitUntil([&](Answers* answers) {
        return answers->answer_count() >= before + count;
      });
      EXPECT_EQ(answers_->errors().size(), 0u);
    }
  }
};

TEST_F(SyncJournalTest, EndsWithTheBitsOfARunThatNobodyDisturbed) {
  constexpr int64_t kSteps = 12;
  ASSERT_TRUE(Begin(/*recover=*/false).ok());
  Connect();
  for (int64_t step = 0; step < kSteps; ++step) {
    PushStep(step, /*wait=*/true);
  }
  const std::vector<float> expected = Weights();
  Die(/*machine=*/true, 0);
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    checkpoint_.clear();
    ASSERT_TRUE(Begin(/*recover=*/false).ok());
    Connect();
    for (int64_t step = 0; step < kSteps; ++step) {
      if ((seed + static_cast<uint64_t>(step)) % 4 == 0) {
        PushStep(step, /*wait=*/false);
        Die(/*machine=*/seed % 2 == 0, seed);
        ASSERT_TRUE(Begin(/*recover=*/true).ok());
        Connect();
      }
      PushStep(step, /*wait=*/true);
      if (step == 5) {
        checkpoint_ = Capture(6);
        ASSERT_TRUE(Trim(checkpoint_).ok());
      }
    }
    EXPECT_EQ(Weights(), expected) << "seed " << seed;
    Die(/*machine=*/true, 0);
  }
}

}  // namespace
}  // namespace selari
