#include "common/float_buffer.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(FloatBufferTest, EverySizeIsAligned) {
  for (int64_t size : {0, 1, 3, 15, 16, 17, 65536}) {
    const std::shared_ptr<FloatBuffer> buffer = FloatBuffer::Allocate(size);
    EXPECT_EQ(buffer->size(), size);
    EXPECT_EQ(buffer->size_bytes(), 4 * size);
    ASSERT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) %
                  FloatBuffer::kAlignmentBytes,
              0u);
  }
}

TEST(FloatBufferTest, PublishedBufferOutlivesItsWriter) {
  std::shared_ptr<FloatBuffer> writer = FloatBuffer::Allocate(2);
  writer->data()[0] = 1.5f;
  writer->data()[1] = -2.5f;
  const std::shared_ptr<const FloatBuffer> published = writer;
  writer.reset();
  EXPECT_EQ(published->data()[0], 1.5f);
  EXPECT_EQ(published->data()[1], -2.5f);
}

TEST(FloatBufferDeathTest, NegativeSizeIsABug) {
  EXPECT_DEATH(FloatBuffer::Allocate(-1), "broken invariant");
}

}  // namespace
}  // namespace selari
