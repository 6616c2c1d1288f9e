#include "common/random.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "common/check.h"

namespace selari {

namespace {

// Constants of Philox4x32 and the number of rounds the paper recommends.
constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

std::array<uint32_t, 4> BlockAt(RandomKey key, uint64_t block) {
  return Philox4x32(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
      key);
}

uint64_t Join(uint32_t low, uint32_t high) {
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Natural logarithm of a positive normal double, to about 1 ulp. With
// x = m·2^e, m in [√½, √2), s = (m − 1)/(m + 1):
// log m = 2·(s + s³/3 + s⁵/5 + …); |s| < 0.172, so the term s²³ is < 2^-58.
double FixedLog(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  double m;
  std::memcpy(&m, &bits, sizeof(m));
  if (m > 0x1.6a09e667f3bcdp+0) {  // √2
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 0.0;
  for (int odd = 21; odd >= 3; odd -= 2) {
    series = (series + 1.0 / odd) * s2;
  }
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  return exponent * kLn2 + (2.0 * s + 2.0 * s * series);
}

// sin and cos of 2π·turns for turns in [0, 1): an eighth of a turn around the
// nearest quarter, then the Taylor series, whose first term left out is below
// 2^-58 for |angle| ≤ π/4.
std::pair<double, double> FixedSinCos(double turns) {
  // Either neighbour does; the same one everywhere, whatever the rounding mode.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const int quarter = static_cast<int>(turns * 4.0 + 0.5);
  constexpr double kTwoPi = 0x1.921fb54442d18p+2;
  const double angle = (turns - quarter * 0.25) * kTwoPi;
  const double square = angle * angle;
  double sine = 1.0;
  for (int i = 17; i >= 3; i -= 2) {
    sine = 1.0 - sine * square / (i * (i - 1));
  }
  sine *= angle;
  double cosine = 1.0;
  for (int i = 18; i >= 2; i -= 2) {
    cosine = 1.0 - cosine * square / (i * (i - 1));
  }
  switch (quarter & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// The pair of normals in `block`: 53 bits for the radius, in (0, 1], and 53
// for the angle, in [0, 1).
std::pair<double, double> NormalPair(RandomKey key, uint64_t block) {
  const std::array<uint32_t, 4> words = BlockAt(key, block);
  const double u =
      static_cast<double>((Join(words[0], words[1]) >> 11) + 1) * 0x1.0p-53;
  const double turns =
      static_cast<double>(Join(words[2], words[3]) >> 11) * 0x1.0p-53;
  const double radius = std::sqrt(-2.0 * FixedLog(u));
  const std::pair<double, double> sin_cos = FixedSinCos(turns);
  return {radius * sin_cos.second, radius * sin_cos.first};
}

template <class T>
void ShuffleImpl(RandomKey key, absl::Span<T> values) {
  for (size_t i = values.size(); i > 1; --i) {
    const uint64_t j = BoundedFromWord64(RandomWord64(key, i), i);
    std::swap(values[i - 1], values[j]);
  }
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(const std::array<uint32_t, 4>& counter,
                                   RandomKey key) {
  std::array<uint32_t, 4> x = counter;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * x[0];
    const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * x[2];
    x = {static_cast<uint32_t>(product1 >> 32) ^ x[1] ^ key.word[0],
         static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ x[3] ^ key.word[1],
         static_cast<uint32_t>(product0)};
    key.word[0] += kWeyl0;
    key.word[1] += kWeyl1;
  }
  return x;
}

RandomKey MakeRandomKey(uint64_t seed, RandomStream stream, uint64_t a,
                        uint64_t b) {
  RandomKey key = {
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  // Words 2 and 3 keep these blocks apart from those of BlockAt.
  const uint32_t tag = static_cast<uint32_t>(stream);
  for (uint64_t part : {a, b}) {
    const std::array<uint32_t, 4> words =
        Philox4x32({static_cast<uint32_t>(part),
                    static_cast<uint32_t>(part >> 32), tag, 0xFFFFFFFF},
                   key);
    key = {{words[0], words[1]}};
  }
  return key;
}

uint32_t RandomWord(RandomKey key, uint64_t index) {
  return BlockAt(key, index / 4)[index % 4];
}

uint64_t RandomWord64(RandomKey key, uint64_t index) {
  const std::array<uint32_t, 4> words = BlockAt(key, index / 2);
  const size_t half = 2 * (index % 2);
  return Join(words[half], words[half + 1]);
}

uint64_t BoundedFromWord64(uint64_t word, uint64_t bound) {
  SELARI_CHECK(bound > 0);
  __extension__ using Uint128 = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Uint128>(word) * bound) >> 64);
}

void FillUniform(RandomKey key, uint64_t first_index, float low, float high,
                 absl::Span<float> values) {
  const float range = high - low;
  std::array<uint32_t, 4> words = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t index = first_index + i;
    if (i == 0 || index % 4 == 0) {
      words = BlockAt(key, index / 4);
    }
    values[i] = low + range * UniformFromWord(words[index % 4]);
  }
}

double StandardNormal(RandomKey key, uint64_t index) {
  const std::pair<double, double> pair = NormalPair(key, index / 2);
  return index % 2 == 0 ? pair.first : pair.second;
}

void FillNormal(RandomKey key, uint64_t first_index, float mean, float stddev,
                absl::Span<float> values) {
  std::pair<double, double> pair;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t index = first_index + i;
    if (i == 0 || index % 2 == 0) {
      pair = NormalPair(key, index / 2);
    }
    const double z = index % 2 == 0 ? pair.first : pair.second;
    values[i] = static_cast<float>(mean + stddev * z);
  }
}

void Shuffle(RandomKey key, absl::Span<int64_t> values) {
  ShuffleImpl(key, values);
}

void Shuffle(RandomKey key, absl::Span<int32_t> values) {
  ShuffleImpl(key, values);
}

}  // namespace selari
