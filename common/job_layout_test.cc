#include "common/job_layout.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/tensor.pb.h"

namespace selari {
namespace {

TEST(JobLayoutTest, ImpossibleTensorIsNamed) {
  v1::TensorSpec tensor;
  tensor.set_name("w");
  tensor.add_shape(0);
  EXPECT_TRUE(absl::IsInvalidArgument(TensorElementCount(tensor).status()));
  tensor.set_shape(0, (int64_t{1} << 40) + 1);
  EXPECT_EQ(TensorElementCount(tensor).status().message(),
            "tensor \"w\": extent 1099511627777 is out of [1, 2^40] or makes "
            "more than 2^60 elements");
  tensor.set_shape(0, int64_t{1} << 40);
  tensor.add_shape(int64_t{1} << 40);
  EXPECT_TRUE(absl::IsInvalidArgument(TensorElementCount(tensor).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(MakeChunkLayout(v1::ResolvedJob()).status()));
}

TEST(JobLayoutTest, LayoutFollowsTensorsAndShardCount) {
  v1::ResolvedJob job;
  job.add_tensors()->set_name("scalar");
  v1::TensorSpec& matrix = *job.add_tensors();
  matrix.add_shape(8);
  matrix.add_shape(12);
  EXPECT_EQ(MakeChunkLayout(job)->shard_count(), 16);
  job.mutable_job()->mutable_cluster()->set_shard_count(3);
  const auto layout = MakeChunkLayout(job);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->shard_count(), 3);
  EXPECT_EQ(layout->tensor_count(), 2);
  int64_t elements = 0;
  for (const ChunkSpec& chunk : layout->chunks()) {
    elements += chunk.count;
  }
  EXPECT_EQ(elements, 97);
}

}  // namespace
}  // namespace selari
