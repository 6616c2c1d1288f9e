#include "worker/client/request_book.h"

#include <variant>

#include "common/error_reason.h"
#include "common/job_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

// Tensors "a" (16) and "b" (48) over two shards: chunk 0 (a, shard 0), chunk 1
// (b, shard 0), chunk 2 (b, shard 1). SYNC with a global norm.
v1::ResolvedJob TestJob() {
  v1::ResolvedJob job;
  job.mutable_job()->mutable_cluster()->set_shard_count(2);
  job.mutable_job()->mutable_optimizer()->set_clip_global_norm(1);
  for (const auto& [name, count] : {std::pair("a", 16), std::pair("b", 48)}) {
    job.add_tensors()->set_name(name);
    job.mutable_tensors(job.tensors_size() - 1)->add_shape(count);
  }
  return job;
}

class RequestBookTest : public ::testing::Test {
 protected:
  RequestBookTest()
      : book_(TestJob(), *MakeChunkLayout(TestJob()), FloatBuffer::Allocate) {}

  void Push(int32_t tensor) {
    book_.Push(4, {1, 0}, tensor, FloatBuffer::Allocate(tensor == 0 ? 16 : 48));
  }
  static ChunkPush AsPush(const ShardRequest& request) {
    return std::get<ChunkPush>(request);
  }
  static RequestError Error(int32_t chunk, int64_t sequence, ErrorReason reason,
                            int32_t retry_after_ms) {
    return {chunk,    4,
            sequence, absl::ResourceExhaustedError("no"),
            reason,   retry_after_ms};
  }

  RequestBook book_;
};

TEST_F(RequestBookTest, GradientIsCutByReference) {
  const auto gradient = FloatBuffer::Allocate(48);
  book_.Push(4, {1, 0}, 1, gradient);

  const auto requests = book_.TakeOutbox();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(AsPush(requests[0]).chunk, 1);
  EXPECT_EQ(AsPush(requests[0]).step, 4);
  EXPECT_EQ(AsPush(requests[0]).node, (TreeNode{1, 0}));
  EXPECT_EQ(AsPush(requests[1]).chunk, 2);
  EXPECT_EQ(AsPush(requests[1]).sequence, 1);
  EXPECT_EQ(AsPush(requests[1]).gradient.data(), gradient->data() + 16);
  EXPECT_EQ(AsPush(requests[1]).gradient.owner(), gradient);
}

TEST_F(RequestBookTest, UnansweredIsSentAgainInOrder) {
  Push(0);
  Push(1);
  book_.RequestPull(1, 5);
  book_.TakeOutbox();
  book_.Take(PushAck{0, 4, 1, 5, false}, 0);

  const auto requests = book_.Unanswered({0});

  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(AsPush(requests[0]).sequence, 2);
  EXPECT_EQ(std::get<ChunkPull>(requests[1]).chunk, 1);
  EXPECT_FALSE(book_.AllAcknowledged());
}

TEST_F(RequestBookTest, RefusalForNowIsRetriedWhenDue) {
  Push(0);
  book_.RequestPull(0, 5);
  book_.TakeOutbox();
  book_.Take(Error(0, 1, ErrorReason::kQueueFull, 20), 100);
  book_.Take(Error(0, 0, ErrorReason::kQueueFull, 30), 100);

  EXPECT_EQ(book_.NextRetryMs(), 120);
  book_.QueueRetries(120);
  EXPECT_EQ(AsPush(book_.TakeOutbox().at(0)).sequence, 1);
  EXPECT_EQ(book_.NextRetryMs(), 130);
  book_.QueueRetries(130);
  EXPECT_EQ(std::get<ChunkPull>(book_.TakeOutbox().at(0)).min_version, 5);
  EXPECT_EQ(book_.NextRetryMs(), std::nullopt);
  EXPECT_TRUE(book_.failure().ok());
}

TEST_F(RequestBookTest, GapThatNeverClosesIsAnError) {
  Push(0);
  for (int i = 0; i < 2000 && book_.failure().ok(); ++i) {
    book_.Take(Error(0, 1, ErrorReason::kSequenceGap, 0), i * 10);
    book_.QueueRetries(i * 10 + 9);
    book_.TakeOutbox();
  }
  EXPECT_FALSE(book_.failure().ok());
}

TEST_F(RequestBookTest, OtherRefusalNamesShardAndTensor) {
  book_.Take(Error(2, 7, ErrorReason::kNotFinite, 0), 0);

  EXPECT_EQ(book_.failure().message(),
            "shard 1, tensor \"b\", push of step 4: no");
  EXPECT_EQ(ReasonOf(book_.failure()), ErrorReason::kNotFinite);
}

TEST_F(RequestBookTest, StoppedJobIsAborted) {
  book_.Take(Error(2, 7, ErrorReason::kJobStopped, 0), 0);

  EXPECT_EQ(book_.failure().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(book_.failure()), ErrorReason::kJobStopped);
}

TEST_F(RequestBookTest, TotalsGoOutWhenAllPartsAreThere) {
  for (int32_t chunk = 0; chunk < 3; ++chunk) {
    book_.Take(ReductionPartials{4, 0, chunk, {1.0}}, 0);
  }
  const auto requests = book_.TakeOutbox();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(std::get<ReductionTotals>(requests[1]).shard, 1);
  EXPECT_EQ(std::get<ReductionTotals>(requests[1]).totals.at(0), 3.0);
}

TEST_F(RequestBookTest, NonsenseOfAServerIsAnError) {
  book_.RequestPull(0, 0);
  ChunkValue value{0, 1, {}};
  value.weights = FloatSlice(nullptr, 3, nullptr);
  EXPECT_EQ(book_.BeginFill(value), nullptr);
  EXPECT_THAT(std::string(book_.failure().message()),
              HasSubstr("sent 3 weights for chunk 0, which has 16"));

  RequestBook other(TestJob(), *MakeChunkLayout(TestJob()),
                    FloatBuffer::Allocate);
  other.Take(PushAck{3, 0, 1, 0, false}, 0);
  EXPECT_EQ(other.failure().code(), absl::StatusCode::kDataLoss);
}

// Whoever comes anew asks for what there is, and then for one step only.
TEST_F(RequestBookTest, TheOldestVersionOfATensorIsFound) {
  const auto value = [this](int32_t chunk, int64_t version) {
    const int64_t count = MakeChunkLayout(TestJob())->chunk(chunk).count;
    const auto weights = FloatBuffer::Allocate(count);
    const bool wanted =
        book_.BeginFill({chunk, version, {weights->data(), count, weights}}) !=
        nullptr;
    if (wanted) {
      book_.EndFill(chunk);
    }
    return wanted;
  };
  book_.RequestAsItIs(1);
  EXPECT_FALSE(std::get<ChunkPull>(book_.TakeOutbox()[0]).exact);
  EXPECT_TRUE(value(1, 8));
  EXPECT_TRUE(value(2, 7));
  ASSERT_TRUE(book_.inbox(1).complete());
  EXPECT_EQ(book_.inbox(1).oldest_version(), 7);

  book_.RequestPull(1, 7);
  EXPECT_TRUE(std::get<ChunkPull>(book_.TakeOutbox()[0]).exact);
  EXPECT_TRUE(value(1, 7));
  EXPECT_FALSE(value(2, 6));
  EXPECT_TRUE(book_.failure().ok()) << book_.failure();
  EXPECT_FALSE(value(2, 8));
  EXPECT_EQ(ReasonOf(book_.failure()), ErrorReason::kStaleIncarnation);
}

TEST_F(RequestBookTest, DescribesWhatIsWaitedFor) {
  book_.RequestPull(1, 5);
  Push(0);
  EXPECT_THAT(book_.DescribePull(1),
              HasSubstr("version 5 of tensor \"b\" from shards 0, 1"));
  EXPECT_THAT(book_.DescribeFlush(), HasSubstr("of shards 0:"));
}

}  // namespace
}  // namespace selari
