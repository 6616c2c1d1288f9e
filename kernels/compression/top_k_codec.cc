#include "kernels/compression/top_k_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "kernels/compression/payload.h"

namespace selari {
namespace {

// 5 times 7 bits hold any index of 32.
constexpr int64_t kVarintBytesMax = 5;
// Elements looked at together: most groups hold nothing that is sent.
constexpr int64_t kGroup = 16;

// The bits of |value|: ordered as the magnitudes are.
inline int32_t MagnitudeBits(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits & 0x7fffffff;
}

// What is sent: every magnitude above `bits`, and the first `ties` equal ones.
struct Threshold {
  int32_t bits = 0;
  int64_t ties = 0;
};

int32_t LargestBits(const float* values, int64_t n) {
  int32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, MagnitudeBits(values[i]));
  }
  return largest;
}

// The digit, `shift` bits up, of the element that has `*wanted` - 1 larger ones
// before it; of these, only the ones with the same digit stay in `*wanted`.
template <int kDigitBits, typename Magnitude>
int32_t FindDigit(int64_t n, int shift, const Magnitude& magnitude,
                  int64_t* wanted) {
  constexpr int32_t kMask = (1 << kDigitBits) - 1;
  std::array<int32_t, kMask + 1> histogram = {};
  for (int64_t i = 0; i < n; ++i) {
    ++histogram[(magnitude(i) >> shift) & kMask];
  }
  int32_t digit = kMask;
  while (digit > 0 && histogram[digit] < *wanted) {
    *wanted -= histogram[digit];
    --digit;
  }
  return digit;
}

// Of the 31 bits, the upper 11 by a histogram of all elements, then 10 and 10
// by one of those that have the same upper bits: a few, so that they cost
// little.
Threshold FindThreshold(const float* values, int64_t n, int64_t wanted) {
  const int32_t top = FindDigit<11>(
      n, 20, [values](int64_t i) { return MagnitudeBits(values[i]); }, &wanted);
  std::vector<int32_t> same;
  for (int64_t begin = 0; begin < n; begin += kGroup) {
    const int64_t end = std::min(begin + kGroup, n);
    if (LargestBits(values + begin, end - begin) >> 20 < top) {
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int32_t bits = MagnitudeBits(values[i]);
      if (bits >> 20 == top) {
        same.push_back(bits);
      }
    }
  }
  int32_t prefix = top;
  for (const int shift : {10, 0}) {
    const int32_t digit = FindDigit<10>(
        static_cast<int64_t>(same.size()), shift,
        [&same](int64_t i) { return same[i]; }, &wanted);
    same.erase(std::remove_if(same.begin(), same.end(),
                              [=](int32_t bits) {
                                return ((bits >> shift) & 0x3ff) != digit;
                              }),
               same.end());
    prefix = (prefix << 10) | digit;
  }
  // No zero is worth sending.
  return {prefix, prefix == 0 ? 0 : wanted};
}

// Appends varints to a byte array.
class DeltaWriter {
 public:
  explicit DeltaWriter(uint8_t* out) : out_(out) {}

  void Append(uint32_t delta) {
    while (delta >= 0x80) {
      *out_++ = static_cast<uint8_t>(delta | 0x80);
      delta >>= 7;
    }
    *out_++ = static_cast<uint8_t>(delta);
  }
  uint8_t* end() const { return out_; }

 private:
  uint8_t* out_;
};

class TopKCodec final : public GradientCodec {
 public:
  TopKCodec(int64_t wanted, int64_t count, const CompressionKernels* kernels)
      : GradientCodec(count), wanted_(wanted), kernels_(kernels) {}

  int64_t words_max() const override {
    return std::max(count(),
                    1 + wanted_ + WordsOfBytes(kVarintBytesMax * wanted_));
  }

  absl::StatusOr<EncodedGradient> Encode(const float* gradient, float* state,
                                         uint32_t* words) const override {
    if (!kernels_->accumulate(count(), gradient, state)) {
      return NotFinite(state);
    }
    const Threshold threshold = FindThreshold(state, count(), wanted_);
    // Values grow behind the header, deltas where the most values would end;
    // the deltas move down when the number of values is known.
    uint32_t* value = words + 1;
    auto* const deltas = reinterpret_cast<uint8_t*>(words + 1 + wanted_);
    DeltaWriter writer(deltas);
    int64_t ties = threshold.ties;
    int64_t next = 0;  // the index of a delta of 0
    for (int64_t begin = 0; begin < count(); begin += kGroup) {
      const int64_t end = std::min(begin + kGroup, count());
      if (LargestBits(state + begin, end - begin) < threshold.bits) {
        continue;
      }
      for (int64_t i = begin; i < end; ++i) {
        const int32_t bits = MagnitudeBits(state[i]);
        if (bits < threshold.bits || (bits == threshold.bits && ties == 0)) {
          continue;
        }
        ties -= bits == threshold.bits ? 1 : 0;
        std::memcpy(value++, state + i, sizeof(*value));
        state[i] = 0;
        writer.Append(static_cast<uint32_t>(i - next));
        next = i + 1;
      }
    }
    words[0] = static_cast<uint32_t>(value - words - 1);
    const int64_t delta_bytes = writer.end() - deltas;
    auto* const place = reinterpret_cast<uint8_t*>(value);
    std::memmove(place, deltas, static_cast<size_t>(delta_bytes));
    const int64_t delta_words = WordsOfBytes(delta_bytes);
    std::memset(place + delta_bytes, 0,
                static_cast<size_t>(delta_words * 4 - delta_bytes));
    return EncodedGradient{GradientEncoding::kTopK,
                           value - words + delta_words};
  }

 private:
  const int64_t wanted_;
  const CompressionKernels* const kernels_;
};

// Reads varints, and refuses what DeltaWriter would not have written.
class DeltaReader {
 public:
  explicit DeltaReader(absl::Span<const char> bytes) : bytes_(bytes) {}

  // False when the bytes end, the number is longer than need be, or above
  // 2^35.
  bool Next(uint64_t* delta) {
    *delta = 0;
    for (int64_t i = 0; i < kVarintBytesMax && next_ < bytes_.size(); ++i) {
      const auto byte = static_cast<uint8_t>(bytes_[next_++]);
      *delta |= uint64_t{byte & 0x7fu} << (7 * i);
      if (byte < 0x80) {
        return i == 0 || byte != 0;
      }
    }
    return false;
  }
  // Only the zeros that fill the last word are left.
  bool AtEnd() const {
    return bytes_.size() - next_ < 4 &&
           std::all_of(bytes_.begin() + static_cast<int64_t>(next_),
                       bytes_.end(), [](char c) { return c == 0; });
  }

 private:
  const absl::Span<const char> bytes_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<const GradientCodec> MakeTopKCodec(
    double fraction, const ChunkShape& shape,
    const CompressionKernels* kernels) {
  const double wanted = std::ceil(fraction * static_cast<double>(shape.count));
  const int64_t k = std::max<int64_t>(1, static_cast<int64_t>(wanted));
  // A value and a delta of one byte for each.
  if (1 + k + WordsOfBytes(k) >= shape.count) {
    return nullptr;
  }
  return std::make_unique<TopKCodec>(k, shape.count, kernels);
}

absl::Status DecodeTopK(absl::Span<const char> bytes, absl::Span<float> out,
                        const CompressionKernels& /*kernels*/) {
  SELARI_RETURN_IF_ERROR(CheckPayloadHeader("top_k", bytes, 1));
  const uint64_t k = PayloadWord(bytes, 0);
  if (k > out.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("top_k: ", k, " elements of ", out.size()));
  }
  SELARI_RETURN_IF_ERROR(
      CheckPayloadHeader("top_k", bytes, 1 + static_cast<int64_t>(k)));
  std::fill(out.begin(), out.end(), 0.0f);
  DeltaReader deltas(bytes.subspan(4 + 4 * k));
  uint64_t next = 0;
  for (uint64_t i = 0; i < k; ++i) {
    uint64_t delta = 0;
    if (!deltas.Next(&delta)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "top_k: index ", i, " of ", k, " is cut off or badly written"));
    }
    const uint64_t index = next + delta;
    if (index >= out.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("top_k: index ", i, " of ", k, " is ", index,
                       ", must be less than ", out.size()));
    }
    std::memcpy(out.data() + index, bytes.data() + 4 + 4 * i, sizeof(float));
    next = index + 1;
  }
  if (bytes.size() % 4 != 0 || !deltas.AtEnd()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "top_k: ", bytes.size(), " bytes, more than ", k, " elements have"));
  }
  return absl::OkStatus();
}

}  // namespace selari
