#include "server/shard_control/write_shard_files.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

constexpr char kDir[] = "/attempt";

class WriteShardFilesTest : public testing::TestWithParam<int32_t> {
 protected:
  WriteShardFilesTest() { options_.shard_count = GetParam(); }

  absl::StatusOr<std::vector<v1::ShardFile>> Write() {
    return WriteShardFiles(env_, kDir, ExampleJob(options_),
                           ExampleSnapshots(options_));
  }

  FaultFileEnv env_;
  ExampleOptions options_;
};

TEST_P(WriteShardFilesTest, EntriesAreInOrderAndFilesSurviveACrash) {
  const auto files = Write();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(static_cast<int32_t>(files->size()), options_.shard_count);
  env_.Crash({});
  for (int32_t shard = 0; shard < options_.shard_count; ++shard) {
    const v1::ShardFile& file = (*files)[static_cast<std::size_t>(shard)];
    EXPECT_EQ(file.shard(), shard);
    const auto bytes =
        ReadFile(env_, JoinPath(kDir, ShardFileName(shard)), 1 << 20);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(static_cast<int64_t>(bytes->size()), file.size_bytes());
  }
}

TEST_P(WriteShardFilesTest, AFullDiskIsTold) {
  env_.SetCapacityBytes(6000);
  EXPECT_TRUE(absl::IsResourceExhausted(Write().status()));
}

// One thread, and several.
INSTANTIATE_TEST_SUITE_P(Shards, WriteShardFilesTest, testing::Values(8, 300));

}  // namespace
}  // namespace selari
