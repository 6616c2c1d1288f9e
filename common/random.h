// Counter-based random numbers: each value is a pure function of a key and an
// index, so any process can make any part of a sequence, in any order, and
// gets the same bits. No state, no allocation; every function is thread-safe.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011). Floating-point results use only
// IEEE add, multiply, divide and square root in a fixed order, never libm, so
// they do not depend on the library or the processor.
//
//   const RandomKey key = MakeRandomKey(seed, RandomStream::kInitialValue, 3);
//   FillNormal(key, /*first_index=*/1000, 0.0f, 0.05f, values);

#ifndef SELARI_COMMON_RANDOM_H_
#define SELARI_COMMON_RANDOM_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace selari {

// Names one sequence of random numbers.
struct RandomKey {
  uint32_t word[2];
};

// What a sequence is for, so that one seed gives independent sequences to each
// use. Changing a number changes every trained model: never renumber.
enum class RandomStream : uint32_t {
  kInitialValue = 1,  // a = tensor index, b = 0
  kShuffle = 2,       // a = epoch, b = 0
  kDropout = 3,       // a = step, b = layer index
  kSynthetic = 4,     // made-up data: a, b free
  kTest = 5,          // tests and benchmarks: a, b free
  kLowRank = 6,       // gradient compression: a = 0, b = 0
};

// The key of sequence (stream, a, b) of `seed`: one Philox block per input, so
// that keys of neighbouring inputs are unrelated.
RandomKey MakeRandomKey(uint64_t seed, RandomStream stream, uint64_t a = 0,
                        uint64_t b = 0);

// The four words of block `counter` under `key`: the paper's function itself.
std::array<uint32_t, 4> Philox4x32(const std::array<uint32_t, 4>& counter,
                                   RandomKey key);

// Word `index` of the sequence: word (index mod 4) of the block whose counter
// is (index div 4) in its low 64 bits.
uint32_t RandomWord(RandomKey key, uint64_t index);

// 64 random bits: half (index mod 2) of block (index div 2).
uint64_t RandomWord64(RandomKey key, uint64_t index);

// Maps a word to [0, 1) in steps of 2^-24.
inline float UniformFromWord(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

// Maps 64 bits to an integer in [0, bound), by the high half of the product;
// its bias is below bound / 2^64. REQUIRES: bound > 0.
uint64_t BoundedFromWord64(uint64_t word, uint64_t bound);

// values[i] = low + (high − low)·u, with u uniform in [0, 1) from word
// first_index + i. One float multiply and one float add each.
void FillUniform(RandomKey key, uint64_t first_index, float low, float high,
                 absl::Span<float> values);

// values[i] = mean + stddev·z, with z standard normal number first_index + i
// (Box–Muller in double; elements 2j and 2j+1 share one block). |z| < 9.
void FillNormal(RandomKey key, uint64_t first_index, float mean, float stddev,
                absl::Span<float> values);

// Standard normal number `index` of the sequence.
double StandardNormal(RandomKey key, uint64_t index);

// Permutes `values` by Fisher–Yates with RandomWord64(key, 0..): a pure
// function of key, the length and the order given. O(n), in place.
void Shuffle(RandomKey key, absl::Span<int64_t> values);
void Shuffle(RandomKey key, absl::Span<int32_t> values);

}  // namespace selari

#endif  // SELARI_COMMON_RANDOM_H_
