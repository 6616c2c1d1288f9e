#include "server/shard/buffer_pool.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(BufferPool, UsesABufferAgainOnceReleased) {
  BufferPool pool(100);
  std::shared_ptr<FloatBuffer> first = pool.Take();
  const float* const memory = first->data();
  EXPECT_EQ(first->size(), 100);
  std::shared_ptr<FloatBuffer> second = pool.Take();
  EXPECT_NE(second->data(), memory);
  first.reset();
  EXPECT_EQ(pool.Take()->data(), memory);
  EXPECT_EQ(pool.buffers_made(), 2);
}

TEST(BufferPool, KeepsABufferWhileAnyReferenceIsLeft) {
  BufferPool pool(16);
  std::shared_ptr<FloatBuffer> buffer = pool.Take();
  const float* const memory = buffer->data();
  std::shared_ptr<const void> other = buffer;
  std::weak_ptr<FloatBuffer> weak = buffer;
  buffer.reset();
  EXPECT_NE(pool.Take()->data(), memory);
  other.reset();
  EXPECT_TRUE(weak.expired());
  std::shared_ptr<FloatBuffer> third = pool.Take();
  EXPECT_NE(third->data(), memory) << "the control block is still in use";
  weak.reset();
  std::shared_ptr<FloatBuffer> fourth = pool.Take();
  EXPECT_EQ(fourth->data(), memory);
}

TEST(BufferPool, BuffersOutliveThePool) {
  std::shared_ptr<FloatBuffer> buffer;
  {
    BufferPool pool(8);
    buffer = pool.Take();
    pool.Take();
  }
  buffer->data()[7] = 1;
  EXPECT_EQ(buffer->data()[7], 1);
}

// One writer, readers that release on threads of their own: what a shard and
// its streams do. The sanitizers look for races.
TEST(BufferPool, IsReleasedFromOtherThreads) {
  constexpr int kRounds = 200;
  BufferPool pool(64);
  for (int round = 0; round < kRounds; ++round) {
    std::shared_ptr<FloatBuffer> buffer = pool.Take();
    for (int i = 0; i < 64; ++i) {
      buffer->data()[i] = static_cast<float>(round);
    }
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back(
          [round, held = std::shared_ptr<const FloatBuffer>(buffer)]() mutable {
            EXPECT_EQ(held->data()[round % 64], static_cast<float>(round));
            held.reset();
          });
    }
    buffer.reset();
    std::shared_ptr<FloatBuffer> next = pool.Take();
    next->data()[0] = -1;
    next.reset();
    for (std::thread& reader : readers) {
      reader.join();
    }
  }
  EXPECT_LE(pool.buffers_made(), 3);
}

}  // namespace
}  // namespace selari
