#include "common/float_slice.h"

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

// The floats 0, 1, 2, ... in pieces that end at `ends` (bytes), each in memory
// of its own that starts `shift` bytes after an address for floats.
struct Pieces {
  std::vector<std::vector<float>> memory;
  std::vector<FloatSlice::Piece> pieces;
};

FloatSlice MakePieces(int64_t size, const std::vector<int64_t>& ends,
                      int shift) {
  std::vector<float> floats;
  for (int64_t i = 0; i < size; ++i) {
    floats.push_back(static_cast<float>(i));
  }
  const auto owner = std::make_shared<Pieces>();
  int64_t begin = 0;
  for (const int64_t end : ends) {
    std::vector<float>& memory = owner->memory.emplace_back(
        static_cast<size_t>(end - begin) / sizeof(float) + 3);
    char* const data = reinterpret_cast<char*>(memory.data()) + shift;
    std::memcpy(data, reinterpret_cast<const char*>(floats.data()) + begin,
                static_cast<size_t>(end - begin));
    owner->pieces.push_back({data, end});
    begin = end;
  }
  return FloatSlice(owner->pieces, owner);
}

void ExpectReads(const FloatSlice& slice, int64_t offset, int64_t n) {
  std::vector<float> scratch(static_cast<size_t>(n) + 1);
  const float* const read = slice.Read(offset, n, scratch.data());
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(read[i], static_cast<float>(offset + i)) << offset << " " << n;
  }
}

void ExpectParts(const FloatSlice& slice) {
  int64_t offset = 0;
  while (offset < slice.size()) {
    float scratch = -1;
    const FloatSlice::Part part = slice.PartAt(offset, &scratch);
    ASSERT_GT(part.size, 0);
    ASSERT_LE(offset + part.size, slice.size());
    for (int64_t i = 0; i < part.size; ++i) {
      const float value = part.data[i];
      ASSERT_EQ(value, static_cast<float>(offset + i));
    }
    offset += part.size;
  }
}

TEST(FloatSliceTest, OneAlignedPieceIsReadInPlace) {
  const FloatSlice slice = MakePieces(10, {40}, 0);
  ASSERT_EQ(slice.size(), 10);
  EXPECT_EQ(slice.size_bytes(), 40);
  ASSERT_NE(slice.data(), nullptr);
  EXPECT_EQ(slice.Read(3, 2, nullptr), slice.data() + 3);
  EXPECT_EQ(slice.PartAt(0, nullptr).size, 10);
  ExpectParts(slice);
}

TEST(FloatSliceTest, APieceAtAnOddAddressIsCopiedOnRead) {
  for (int shift = 1; shift < 4; ++shift) {
    const FloatSlice slice = MakePieces(10, {40}, shift);
    EXPECT_EQ(slice.data(), nullptr);
    ExpectReads(slice, 0, 10);
    ExpectReads(slice, 9, 1);
    EXPECT_EQ(slice.PartAt(2, nullptr).size, 8);
    ExpectParts(slice);
  }
}

TEST(FloatSliceTest, FloatsMayStraddlePieces) {
  const FloatSlice slice = MakePieces(4, {1, 2, 3, 5, 16}, 1);
  ExpectParts(slice);
  for (int64_t offset = 0; offset <= 4; ++offset) {
    for (int64_t n = 0; offset + n <= 4; ++n) {
      ExpectReads(slice, offset, n);
    }
  }
}

TEST(FloatSliceTest, RandomCuts) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t size = 1 + static_cast<int64_t>(random() % 3000);
    std::vector<int64_t> ends;
    for (int64_t end = 0; end < 4 * size;) {
      end = std::min<int64_t>(4 * size,
                              end + 1 + static_cast<int64_t>(random() % 2000));
      ends.push_back(end);
    }
    const FloatSlice slice =
        MakePieces(size, ends, static_cast<int>(random() % 4));
    const int64_t offset = static_cast<int64_t>(random()) & 1023 % size;
    ExpectReads(slice, offset,
                static_cast<int64_t>(random() % 4096) % (size - offset + 1));
    ExpectReads(slice, 0, size);
    ExpectParts(slice);
  }
}

TEST(FloatSliceTest, TheOwnerLivesAsLongAsASlice) {
  auto owner = std::make_shared<std::vector<float>>(3, 1.0f);
  const std::weak_ptr<std::vector<float>> alive = owner;
  FloatSlice slice(owner->data(), 3, owner);
  owner.reset();
  const FloatSlice copy = slice;
  slice = FloatSlice();
  EXPECT_FALSE(alive.expired());
  ExpectReads(copy, 0, 0);
  EXPECT_EQ(copy.Read(2, 1, nullptr)[0], 1.0f);
}

}  // namespace
}  // namespace selari
