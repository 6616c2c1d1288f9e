#include "server/checkpoint/state_digest.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {
namespace {

std::string DigestOf(const ExampleOptions& options) {
  FaultFileEnv env;
  const auto reader =
      CheckpointReader::Open(env, *WriteExample(env, "c", options));
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::string digest = *StateDigest(**reader);
  EXPECT_EQ((*reader)->manifest().state_digest(), digest);
  return digest;
}

TEST(StateDigestTest, DependsOnStateAndNothingElse) {
  const std::string digest = DigestOf({});
  for (int32_t shard_count : {1, 2, 5, 16}) {
    EXPECT_EQ(DigestOf({.shard_count = shard_count}), digest);
  }
  EXPECT_EQ(DigestOf({.job_id = "another"}), digest);
  EXPECT_NE(DigestOf({.step = 8}), digest);
  EXPECT_NE(DigestOf({.slot_count = 1}), digest);
}

// The definition in docs/FORMAT.md, written down once more.
TEST(StateDigestTest, IsTheHashOfTheDocumentedBytes) {
  const std::vector<std::string> names = {"dense1/w", "dense1/b", "scale"};
  const std::vector<std::vector<int64_t>> shapes = {{40, 30}, {30}, {}};
  const std::vector<int64_t> counts = {1200, 30, 1};
  Sha256 hash;
  hash.UpdateInt64(7);  // step
  hash.UpdateInt64(2);  // slots
  hash.UpdateInt64(3);  // tensors
  for (int32_t tensor = 0; tensor < 3; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    hash.UpdateInt64(static_cast<int64_t>(names[t].size()));
    hash.Update(names[t]);
    hash.UpdateInt64(static_cast<int64_t>(shapes[t].size()));
    for (int64_t extent : shapes[t]) {
      hash.UpdateInt64(extent);
    }
    for (int32_t array = 0; array <= 2; ++array) {
      for (int64_t i = 0; i < counts[t]; ++i) {
        const float value = ExampleValue(tensor, array, i);
        char bytes[sizeof(value)];
        std::memcpy(bytes, &value, sizeof(value));
        hash.Update(absl::string_view(bytes, sizeof(bytes)));
      }
    }
  }
  EXPECT_EQ(DigestOf({}), hash.FinishHex());
}

}  // namespace
}  // namespace selari
