#include "kernels/cpu/multiply_add_loop.h"

#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {
namespace {

// Independent chains: more than the units times their latency on any core (2 x
// 5), and as many as registers hold beside the two factors.
constexpr int kChains = 12;

}  // namespace

float RunMultiplyAdds(std::int64_t rounds) {
  // Each chain tends to 1: no overflow and nothing denormal.
  const Vec factor = Broadcast(0.75f);
  const Vec addend = Broadcast(0.25f);
  Vec chains[kChains];
  for (int i = 0; i < kChains; ++i) {
    chains[i] = Broadcast(static_cast<float>(i));
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      chains[i] = MulAdd(chains[i], factor, addend);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < kChains; ++i) {
    float values[kVecFloats];
    Store(values, chains[i]);
    for (int64_t j = 0; j < kVecFloats; ++j) {
      sum += values[j];
    }
  }
  return sum;
}

std::int64_t MultiplyAddFlops() { return kChains * kVecFloats * 2; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
