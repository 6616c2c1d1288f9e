#include "common/chunk_layout.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace selari {
namespace {

ChunkLayout Make(const std::vector<int64_t>& counts, int32_t shards) {
  ChunkLayout::Options options;
  options.shard_count = shards;
  auto layout = ChunkLayout::Create(counts, options);
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *std::move(layout);
}

std::vector<int64_t> FloatsPerShard(const ChunkLayout& layout) {
  std::vector<int64_t> floats(layout.shard_count());
  for (int32_t s = 0; s < layout.shard_count(); ++s) {
    for (const ChunkSpec& chunk : layout.ChunksOfShard(s)) {
      EXPECT_EQ(chunk.shard, s);
      floats[s] += chunk.count;
    }
  }
  return floats;
}

TEST(ChunkLayoutTest, EveryElementIsInExactlyOneChunk) {
  const std::vector<int64_t> counts = {784 * 256, 256, 2560, 10, 1, 3};
  for (const int32_t shards : {1, 3, 16, 61}) {
    const ChunkLayout layout = Make(counts, shards);
    for (size_t t = 0; t < counts.size(); ++t) {
      int64_t next = 0;
      for (const ChunkSpec& chunk : layout.ChunksOfTensor(t)) {
        EXPECT_EQ(chunk.tensor, static_cast<int32_t>(t));
        EXPECT_EQ(chunk.offset, next);
        next += chunk.count;
      }
      EXPECT_EQ(next, counts[t]);
    }
    const std::vector<int64_t> floats = FloatsPerShard(layout);
    EXPECT_EQ(std::accumulate(floats.begin(), floats.end(), int64_t{0}),
              std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  }
}

TEST(ChunkLayoutTest, ShardsCarryTheSameBytesWithinATenth) {
  for (const std::vector<int64_t>& counts :
       {std::vector<int64_t>{784 * 256, 256, 2560, 10},
        std::vector<int64_t>{64 << 20}, std::vector<int64_t>(1000, 777)}) {
    const std::vector<int64_t> floats = FloatsPerShard(Make(counts, 16));
    const double mean = std::accumulate(floats.begin(), floats.end(), 0.0) / 16;
    EXPECT_LE(*std::max_element(floats.begin(), floats.end()), 1.1 * mean);
  }
}

TEST(ChunkLayoutTest, AModelSmallerThanItsShardsLeavesSomeEmpty) {
  const ChunkLayout layout = Make({5}, 16);
  ASSERT_EQ(layout.chunks().size(), 1u);
  EXPECT_EQ(layout.chunk(0).count, 5);
  EXPECT_EQ(layout.ChunksOfShard(15).size(), 1u);
}

TEST(ChunkLayoutTest, NoChunkIsLargerThanTheLimit) {
  const ChunkLayout layout = Make({(1 << 20) + 1}, 2);
  for (const ChunkSpec& chunk : layout.chunks()) {
    EXPECT_LE(chunk.count, 65536);
    EXPECT_GT(chunk.count, 0);
  }
}

TEST(ChunkLayoutTest, ImpossibleInputIsNamed) {
  EXPECT_EQ(ChunkLayout::Create({}, {}).status().message(),
            "the model has no tensor");
  EXPECT_FALSE(ChunkLayout::Create({4, 0}, {}).ok());
  EXPECT_FALSE(ChunkLayout::Create({4, int64_t{1} << 62}, {}).ok());
  ChunkLayout::Options none;
  none.shard_count = 0;
  EXPECT_FALSE(ChunkLayout::Create({4}, none).ok());
}

}  // namespace
}  // namespace selari
