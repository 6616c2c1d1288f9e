#include "common/shared_buffers.h"

#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr int64_t kPageFloats = 1024;

std::unique_ptr<SharedBuffers> MakeBuffers(int64_t pages) {
  auto memory = SharedMemory::Lend(SharedMemory::kHeaderBytes + pages * 4096);
  return std::make_unique<SharedBuffers>(*std::move(memory));
}

bool IsShared(const SharedBuffers& buffers, const FloatBuffer& buffer) {
  return buffers.memory()
      ->OffsetOf(buffer.data(), buffer.size_bytes())
      .has_value();
}

TEST(SharedBuffersTest, GivesNoPlaceTwice) {
  const auto buffers = MakeBuffers(3);
  auto first = buffers->Allocate(kPageFloats);
  ASSERT_TRUE(IsShared(*buffers, *first));
  first->data()[0] = 5;
  const float* const place = first->data();
  first.reset();
  EXPECT_EQ(*place, 5) << "a server may still be reading it";
  const auto second = buffers->Allocate(kPageFloats + 1);
  ASSERT_TRUE(IsShared(*buffers, *second));
  EXPECT_GE(second->data(), place + kPageFloats);
}

TEST(SharedBuffersTest, FallsBackToOrdinaryMemory) {
  const auto buffers = MakeBuffers(2);
  EXPECT_FALSE(IsShared(*buffers, *buffers->Allocate(kPageFloats - 1)));
  EXPECT_FALSE(IsShared(*buffers, *buffers->Allocate(0)));
  EXPECT_FALSE(IsShared(*buffers, *buffers->Allocate(2 * kPageFloats + 1)));
  EXPECT_TRUE(IsShared(*buffers, *buffers->Allocate(2 * kPageFloats)));
  EXPECT_FALSE(IsShared(*buffers, *buffers->Allocate(kPageFloats)));
}

TEST(SharedBuffersTest, BuffersOutliveTheirSource) {
  auto buffers = MakeBuffers(1);
  const auto buffer = buffers->Allocate(kPageFloats);
  buffers.reset();
  buffer->data()[kPageFloats - 1] = 1;
}

TEST(SharedBuffersTest, ThreadsGetDifferentPlaces) {
  const auto buffers = MakeBuffers(4000);
  std::vector<std::vector<std::shared_ptr<FloatBuffer>>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&buffers, &mine] {
      for (int i = 0; i < 1000; ++i) {
        mine.push_back(buffers->Allocate(kPageFloats));
      }
    });
  }
  std::set<const float*> places;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    for (const auto& buffer : taken[i]) {
      EXPECT_TRUE(IsShared(*buffers, *buffer));
      places.insert(buffer->data());
    }
  }
  EXPECT_EQ(places.size(), 4000u);
}

}  // namespace
}  // namespace selari
