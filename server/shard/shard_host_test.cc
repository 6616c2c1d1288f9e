#include "server/shard/shard_host.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr TreeNode kRoot{3, 0};

// Keeps replies; a test waits for a number of them.
class Inbox : public ReplySink {
 public:
  void OnReplies(std::vector<ShardReply> replies) override {
    MutexLock lock(&mu_);
    for (ShardReply& reply : replies) {
      replies_.push_back(std::move(reply));
    }
    changed_.NotifyAll();
  }
  void OnHandled(int64_t gradient_bytes) override {
    MutexLock lock(&mu_);
    handled_bytes_ += gradient_bytes;
  }
  int64_t handled_bytes() {
    MutexLock lock(&mu_);
    return handled_bytes_;
  }
  // Takes the next `count` replies.
  std::vector<ShardReply> Take(size_t count) {
    MutexLock lock(&mu_);
    while (replies_.size() < count) {
      changed_.Wait(&mu_);
    }
    std::vector<ShardReply> taken(
        std::make_move_iterator(replies_.begin()),
        std::make_move_iterator(replies_.begin() + count));
    replies_.erase(replies_.begin(), replies_.begin() + count);
    return taken;
  }
  size_t size() {
    MutexLock lock(&mu_);
    return replies_.size();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<ShardReply> replies_ ABSL_GUARDED_BY(mu_);
  int64_t handled_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// Waits for one result.
template <typename T>
class Promise {
 public:
  void Set(T value) {
    MutexLock lock(&mu_);
    value_ = std::move(value);
    changed_.NotifyAll();
  }
  T Get() {
    MutexLock lock(&mu_);
    while (!value_.has_value()) {
      changed_.Wait(&mu_);
    }
    return *value_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::optional<T> value_ ABSL_GUARDED_BY(mu_);
};

using CaptureResult = absl::StatusOr<std::vector<ShardSnapshot>>;

v1::ResolvedJob HostJob() {
  v1::ResolvedJob job = MakeTestJob({{"w", 1000}, {"b", 10}});
  job.mutable_job()->mutable_cluster()->set_shard_count(5);
  return job;
}

ChunkPush PushAll(const ShardJob& job, int32_t chunk, int64_t step,
                  int64_t sequence, TreeNode node = kRoot) {
  ChunkPush push;
  push.chunk = chunk;
  push.step = step;
  push.node = node;
  push.sequence = sequence;
  push.gradient =
      MakeSlice(std::vector<float>(job.layout.chunk(chunk).count, 1));
  return push;
}

class ShardHostTest : public testing::Test {
 protected:
  void Start(ShardHost::Options options = {}) {
    host_ = ShardHost::Create(options);
    job_ = CreateJobOrDie(HostJob());
    ASSERT_TRUE(host_->Initialize(job_, {0, 1, 2, 3, 4}).ok());
    session_ = host_->Connect({0, 7}, inbox_);
  }
  int32_t chunk_count() const {
    return static_cast<int32_t>(job_->layout.chunks().size());
  }
  // Pushes one step to every chunk and waits for the acknowledgements.
  void RunStep(int64_t step) {
    std::vector<ShardRequest> requests;
    for (int32_t chunk = 0; chunk < chunk_count(); ++chunk) {
      requests.push_back(PushAll(*job_, chunk, step, ++sequence_));
    }
    host_->Submit(session_, std::move(requests));
    for (const ShardReply& reply : inbox_->Take(chunk_count())) {
      ASSERT_TRUE(std::holds_alternative<PushAck>(reply));
    }
  }
  RequestError OneRefusal() {
    const ShardReply reply = inbox_->Take(1)[0];
    if (!std::holds_alternative<RequestError>(reply)) {
      ADD_FAILURE() << "not refused";
      return {};
    }
    return std::get<RequestError>(reply);
  }
  CaptureResult Capture(int64_t step, bool stop = false) {
    auto promise = std::make_shared<Promise<CaptureResult>>();
    host_->Capture(step, stop, [promise](CaptureResult result) {
      promise->Set(std::move(result));
    });
    return promise->Get();
  }

  std::unique_ptr<ShardHost> host_;
  std::shared_ptr<const ShardJob> job_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  ShardHost::SessionId session_ = 0;
  int64_t sequence_ = 0;
};

TEST_F(ShardHostTest, AppliesPushesAndAnswersPulls) {
  Start();
  RunStep(0);
  host_->Submit(session_, {ChunkPull{0, 1, 0}});
  const ShardReply reply = inbox_->Take(1)[0];
  ASSERT_TRUE(std::holds_alternative<ChunkValue>(reply));
  EXPECT_EQ(std::get<ChunkValue>(reply).version, 1);
  for (const ShardProgress& progress : host_->Progress()) {
    EXPECT_EQ(progress.min_version, 1);
    EXPECT_EQ(progress.max_version, 1);
    EXPECT_EQ(progress.queue_length, 0);
  }
  EXPECT_EQ(host_->shards(), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(host_->Metrics()[0].counters.updates, 1);
}

TEST_F(ShardHostTest, RefusesWhatIsNotHosted) {
  host_ = ShardHost::Create({});
  job_ = CreateJobOrDie(HostJob());
  session_ = host_->Connect({0, 7}, inbox_);
  host_->Submit(session_, {ChunkPull{0, 0, 0}});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kNotInitialized);
  EXPECT_EQ(host_->job(), nullptr);

  ASSERT_TRUE(host_->Initialize(job_, {1}).ok());
  host_->Submit(session_, {PushAll(*job_, 0, 0, 1)});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kWrongShard);
  host_->Submit(session_, {ChunkPull{99, 0, 0}});
  EXPECT_EQ(
      OneRefusal().status,
      absl::InvalidArgumentError("no chunk 99: the model has chunks 0 to 5"));
}

TEST_F(ShardHostTest, HostsShardsOfOneJobOnly) {
  Start();
  v1::ResolvedJob other = HostJob();
  other.set_job_id("other");
  EXPECT_EQ(host_->Initialize(CreateJobOrDie(other), {0}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(host_->Initialize(job_, {5}).code(),
            absl::StatusCode::kInvalidArgument);
  RunStep(0);
  EXPECT_TRUE(host_->Initialize(job_, {0, 1}).ok());
  EXPECT_EQ(host_->Progress()[0].min_version, 1) << "stays as it is";
}

TEST_F(ShardHostTest, NothingMovesWhilePaused) {
  Start();
  RunStep(0);
  for (const ShardProgress& progress : host_->Pause()) {
    EXPECT_EQ(progress.min_version, 1);
  }
  host_->Submit(session_, {PushAll(*job_, 0, 1, ++sequence_)});
  // A capture goes before what waits, and runs although the host is paused.
  EXPECT_TRUE(Capture(1).ok());
  EXPECT_EQ(host_->Progress()[0].queue_length, 1);
  EXPECT_EQ(inbox_->size(), 0u);
  host_->Resume();
  EXPECT_TRUE(std::holds_alternative<PushAck>(inbox_->Take(1)[0]));
}

TEST_F(ShardHostTest, AFullQueueRefusesWithTheTimeToRetry) {
  ShardHost::Options options;
  options.queue_bytes_max = 1000;
  options.queue_length_max = 3;
  Start(options);
  host_->Pause();
  host_->Submit(session_, {PushAll(*job_, 0, 0, 1), PushAll(*job_, 0, 0, 2)});
  const RequestError error = OneRefusal();
  EXPECT_EQ(error.reason, ErrorReason::kQueueFull);
  EXPECT_EQ(error.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error.sequence, 2);
  EXPECT_GT(error.retry_after_ms, 0);
  host_->Submit(session_, {ChunkPull{0, 0, 0}, ChunkPull{0, 0, 0}});
  EXPECT_EQ(inbox_->size(), 0u);
  host_->Submit(session_, {ChunkPull{0, 0, 0}});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kQueueFull);
  // A step waits for totals; these are taken, and refused by the shard itself.
  host_->Submit(session_, {ReductionTotals{1, 0, 0, {1}}});
  EXPECT_EQ(inbox_->size(), 0u);
  host_->Resume();
  for (const ShardReply& reply : inbox_->Take(4)) {
    if (const auto* refused = std::get_if<RequestError>(&reply)) {
      EXPECT_EQ(refused->reason, ErrorReason::kShapeMismatch);
    }
  }
}

TEST_F(ShardHostTest, SubmitRunsIdleShards) {
  ShardHost::Options options;
  options.run_in_submit_bytes_max = 400;
  Start(options);
  RunStep(0);      // the session is open when it is over
  host_->Pause();  // and nobody holds a runner
  host_->Resume();
  const int32_t small = chunk_count() - 1;
  ASSERT_LE(job_->layout.chunk(small).count, 100);

  host_->Submit(session_, {PushAll(*job_, small, 1, ++sequence_),
                           ChunkPull{small, 2, 0}});

  EXPECT_EQ(inbox_->size(), 2u) << "answered inside Submit";
}

TEST_F(ShardHostTest, EachSubmittedByteIsHandledOnce) {
  for (const int64_t run_bytes : {int64_t{-1}, int64_t{1} << 40}) {
    inbox_ = std::make_shared<Inbox>();
    sequence_ = 0;
    ShardHost::Options options;
    options.run_in_submit_bytes_max = run_bytes;
    Start(options);
    for (int64_t step = 0; step < 5; ++step) {
      RunStep(step);
    }
    ChunkPush nowhere = PushAll(*job_, 0, 5, ++sequence_);
    nowhere.chunk = 1000;
    host_->Submit(session_, {nowhere});
    inbox_->Take(1);
    const int64_t refused_bytes = nowhere.gradient.size_bytes();
    EXPECT_EQ(inbox_->handled_bytes(), 5 * 1010 * 4 + refused_bytes);
  }
}

TEST_F(ShardHostTest, ADisconnectedSessionHearsNothing) {
  Start();
  host_->Submit(session_, {ChunkPull{0, 1, 0}});
  host_->Disconnect(session_);
  const size_t heard = inbox_->size();
  auto second = std::make_shared<Inbox>();
  session_ = host_->Connect({1, 8}, second);
  std::swap(inbox_, second);
  RunStep(0);
  EXPECT_EQ(heard, 0u);
  EXPECT_EQ(second->size(), 0u);
}

TEST_F(ShardHostTest, CapturesAtAStepAndRestores) {
  Start();
  RunStep(0);
  auto promise = std::make_shared<Promise<CaptureResult>>();
  host_->Capture(2, /*stop=*/false, [promise](CaptureResult result) {
    promise->Set(std::move(result));
  });
  RunStep(1);
  RunStep(2);
  const CaptureResult at_two = promise->Get();
  ASSERT_TRUE(at_two.ok());
  ASSERT_EQ(at_two->size(), 5u);
  for (const ShardSnapshot& snapshot : *at_two) {
    EXPECT_EQ(snapshot.version, 2);
  }
  EXPECT_EQ(Capture(2).status().code(), absl::StatusCode::kFailedPrecondition);

  host_->Submit(session_, {ChunkPull{0, 4, 0}, ChunkPull{0, 0, 0}});
  inbox_->Take(1);  // so the first one waits in the shard
  ASSERT_TRUE(host_->Restore(job_, *at_two).ok());
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kStaleIncarnation);
  EXPECT_EQ(host_->Progress()[0].min_version, 2);
  // What was under way belongs to a time that did not happen.
  host_->Submit(session_, {PushAll(*job_, 0, 2, ++sequence_)});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kStaleIncarnation);
  host_->Submit(session_, {ChunkPull{0, 0, 0}});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kStaleIncarnation);
  session_ = host_->Connect({0, 1}, inbox_);
  RunStep(2);
  EXPECT_EQ(host_->Progress()[0].min_version, 3);
}

TEST_F(ShardHostTest, StopRefusesLaterPushesAndPulls) {
  Start();
  RunStep(0);
  host_->Submit(session_, {ChunkPull{0, 2, 0}});
  const CaptureResult result = Capture(1, /*stop=*/true);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kJobStopped);
  host_->Submit(session_, {PushAll(*job_, 0, 1, ++sequence_)});
  EXPECT_EQ(OneRefusal().reason, ErrorReason::kJobStopped);
}

TEST_F(ShardHostTest, ACaptureThatCannotEndIsCancelled) {
  Start();
  auto promise = std::make_shared<Promise<CaptureResult>>();
  host_->Capture(9, /*stop=*/false, [promise](CaptureResult result) {
    promise->Set(std::move(result));
  });
  host_.reset();
  EXPECT_EQ(promise->Get().status().code(), absl::StatusCode::kCancelled);
}

// Four workers push their leaves, pull and go on; a fifth connects and leaves;
// captures are taken. The sanitizers look on.
class ShardHostThreadsTest : public ShardHostTest,
                             public testing::WithParamInterface<int64_t> {};

INSTANTIATE_TEST_SUITE_P(RunInSubmit, ShardHostThreadsTest,
                         testing::Values(-1, 500, int64_t{1} << 40));

TEST_P(ShardHostThreadsTest, ManyThreadsAtOnce) {
  constexpr int64_t kSteps = 10;
  ShardHost::Options options;
  options.threads = 3;
  options.run_in_submit_bytes_max = GetParam();
  Start(options);
  std::vector<std::thread> workers;
  for (int32_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      auto inbox = std::make_shared<Inbox>();
      const ShardHost::SessionId session =
          host_->Connect({worker, 100u + worker}, inbox);
      int64_t sequence = 0;
      for (int64_t step = 0; step < kSteps; ++step) {
        std::vector<ShardRequest> requests;
        for (int32_t chunk = 0; chunk < chunk_count(); ++chunk) {
          requests.push_back(
              PushAll(*job_, chunk, step, ++sequence, {1, worker}));
          requests.push_back(ChunkPull{chunk, step + 1, 0});
        }
        host_->Submit(session, std::move(requests));
        inbox->Take(2 * chunk_count());
      }
      host_->Disconnect(session);
    });
  }
  auto at_end = std::make_shared<Promise<CaptureResult>>();
  host_->Capture(kSteps, /*stop=*/false, [at_end](CaptureResult result) {
    at_end->Set(std::move(result));
  });
  for (int i = 0; i < 20; ++i) {
    const auto inbox = std::make_shared<Inbox>();
    const ShardHost::SessionId observer = host_->Connect({-1, 1}, inbox);
    host_->Submit(observer, {ChunkPull{0, 0, 0}});
    inbox->Take(1);
    host_->Submit(observer, {ChunkPull{0, 100, 0}});
    host_->Disconnect(observer);
    host_->Pause();
    host_->Resume();
    host_->Metrics();
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  const CaptureResult result = at_end->Get();
  ASSERT_TRUE(result.ok());
  for (const ShardSnapshot& snapshot : *result) {
    EXPECT_EQ(snapshot.version, kSteps);
  }
}

}  // namespace
}  // namespace selari
