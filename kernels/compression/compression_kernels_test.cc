#include "kernels/compression/compression_kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "common/isa.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/reference/compression_reference.h"

namespace selari {
namespace {

constexpr uint64_t kSeed = 20261201;
// Around the vector widths (4, 8, 16), the lanes of a sum (16) and past them.
constexpr int64_t kSizes[] = {0,  1,  3,  4,  7,  8,  9,   15,
                              16, 17, 31, 33, 64, 67, 1000};

std::vector<const CompressionKernels*> AllLevels() {
  std::vector<const CompressionKernels*> levels;
  for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    if (level <= DetectIsaLevel()) {
      levels.push_back(&ChooseCompressionKernels(level));
    }
  }
  return levels;
}

float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

std::vector<float> Uniform(uint64_t which, int64_t n) {
  std::vector<float> values(n);
  FillUniform(MakeRandomKey(kSeed, RandomStream::kTest, which), 0, -1.0f, 1.0f,
              absl::MakeSpan(values));
  return values;
}

// Finite floats of every exponent, and those where rounding is decided.
std::vector<float> ManyFloats() {
  std::vector<float> values = {
      0.0f,      -0.0f,    65504.0f,     65519.996f,     65520.0f,
      1e30f,     -3.4e38f, 0x1p-24f,     0x1p-25f,       0x1.8p-25f,
      0x1p-149f, 0x1p-14f, 0x1.FFFp-15f, 0x1.FFFFFEp127f};
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest, 77);
  for (uint64_t i = 0; i < 200000; ++i) {
    uint32_t bits = RandomWord(key, i);
    // Half of them lie on a tie or next to one.
    if (i % 2 == 0) {
      bits = (bits & 0xfffff000u) + static_cast<uint32_t>(i / 2 % 3) - 1;
    } else if (i % 4 == 1) {
      // Magnitudes that binary16 has.
      bits = (bits & 0x87ffffffu) + 0x30000000u;
    }
    if (std::isfinite(FloatOfBits(bits))) {
      values.push_back(FloatOfBits(bits));
    }
  }
  return values;
}

struct HalfType {
  const char* name;
  void (*CompressionKernels::*encode)(int64_t, float*, uint16_t*);
  void (*CompressionKernels::*decode)(int64_t, const UnalignedCode16*, float*);
  uint16_t (*code)(float);
  double (*value)(uint16_t);
};

const HalfType kHalfTypes[] = {
    {"float16", &CompressionKernels::float16_encode,
     &CompressionKernels::float16_decode, reference::Float16Code,
     reference::Float16Value},
    {"bfloat16", &CompressionKernels::bfloat16_encode,
     &CompressionKernels::bfloat16_decode, reference::Bfloat16Code,
     reference::Bfloat16Value}};

TEST(CompressionKernelsTest, HalvesAreTheNearestOfTheirType) {
  const std::vector<float> values = ManyFloats();
  for (const HalfType& type : kHalfTypes) {
    for (const CompressionKernels* kernels : AllLevels()) {
      std::vector<float> residual = values;
      std::vector<uint16_t> codes(values.size());
      (kernels->*type.encode)(static_cast<int64_t>(values.size()),
                              residual.data(), codes.data());
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(codes[i], type.code(values[i]))
            << type.name << " of " << values[i];
        ASSERT_EQ(residual[i],
                  static_cast<float>(values[i] - type.value(codes[i])))
            << type.name << " of " << values[i];
      }
    }
  }
}

TEST(CompressionKernelsTest, EveryHalfIsDecodedExactly) {
  // One byte further on, so that no code is aligned.
  std::vector<char> bytes(2 * 65536 + 1);
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<uint16_t>(code);
    std::memcpy(bytes.data() + 1 + 2 * code, &half, sizeof(half));
  }
  for (const HalfType& type : kHalfTypes) {
    for (const CompressionKernels* kernels : AllLevels()) {
      std::vector<float> y(65536);
      (kernels->*type.decode)(
          65536, reinterpret_cast<const UnalignedCode16*>(bytes.data() + 1),
          y.data());
      for (uint32_t code = 0; code < 65536; ++code) {
        const double want = type.value(static_cast<uint16_t>(code));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(y[code])) << type.name << " " << code;
        } else {
          ASSERT_EQ(y[code], want) << type.name << " " << code;
          ASSERT_EQ(std::signbit(y[code]), code >= 0x8000);
        }
      }
    }
  }
}

TEST(CompressionKernelsTest, Int8BlocksAreThoseOfTheReference) {
  for (const int64_t n : kSizes) {
    for (const int64_t block : {16, 64}) {
      for (const float size : {1.0f, 1e-12f, 0x1p-120f, 3.4e38f}) {
        std::vector<float> values = Uniform(n, n);
        for (float& value : values) {
          value *= size;
        }
        for (const CompressionKernels* kernels : AllLevels()) {
          std::vector<float> residual = values;
          std::vector<float> scales((n + block - 1) / block);
          std::vector<int8_t> codes(n);
          kernels->int8_encode(n, block, residual.data(), scales.data(),
                               codes.data());
          std::vector<float> decoded(n);
          kernels->int8_decode(n, block, scales.data(), codes.data(),
                               decoded.data());
          for (int64_t begin = 0; begin < n; begin += block) {
            const int64_t end = std::min(n, begin + block);
            const reference::Int8Block want = reference::EncodeInt8Block(
                {values.begin() + begin, values.begin() + end});
            ASSERT_EQ(scales[begin / block], want.scale);
            for (int64_t i = begin; i < end; ++i) {
              ASSERT_EQ(codes[i], want.codes[i - begin]) << i << " of " << n;
              ASSERT_EQ(decoded[i], static_cast<float>(codes[i]) * want.scale);
              ASSERT_EQ(residual[i], values[i] - decoded[i]);
            }
          }
        }
      }
    }
  }
}

TEST(CompressionKernelsTest, AccumulateAddsAndFindsWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const int64_t n : kSizes) {
    const std::vector<float> gradient = Uniform(1, n);
    const std::vector<float> residual = Uniform(2, n);
    for (const CompressionKernels* kernels : AllLevels()) {
      std::vector<float> values = residual;
      EXPECT_TRUE(kernels->accumulate(n, gradient.data(), values.data()));
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(values[i], residual[i] + gradient[i]);
      }
      for (int64_t i = 0; i < n; i += 5) {
        std::vector<float> bad = gradient;
        bad[i] = i % 2 == 0 ? -kInfinity : std::nanf("");
        values = residual;
        EXPECT_FALSE(kernels->accumulate(n, bad.data(), values.data()));
        bad[i] = kLargest;
        values[i] = kLargest;
        EXPECT_FALSE(kernels->accumulate(n, bad.data(), values.data()));
      }
    }
  }
}

TEST(CompressionKernelsTest, SumsHaveTheSameBitsAtEachLevel) {
  for (const int64_t n : kSizes) {
    const std::vector<float> a = Uniform(3, n);
    const std::vector<float> b = Uniform(4, n);
    double want = 0;
    for (int64_t i = 0; i < n; ++i) {
      want += static_cast<double>(a[i]) * b[i];
    }
    const double first = AllLevels()[0]->dot(n, a.data(), b.data());
    EXPECT_NEAR(first, want, 1e-12);
    for (const CompressionKernels* kernels : AllLevels()) {
      EXPECT_EQ(kernels->dot(n, a.data(), b.data()), first);
      std::vector<float> y = b;
      kernels->add_scaled(n, 0.3f, a.data(), y.data());
      for (int64_t i = 0; i < n; ++i) {
        // Rounded twice.
        const float product = 0.3f * a[i];
        ASSERT_EQ(BitsOf(y[i]), BitsOf(b[i] + product));
      }
    }
  }
}

}  // namespace
}  // namespace selari
