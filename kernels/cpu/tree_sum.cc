#include "kernels/tree_sum.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// Elements of one block of the general sum: its partial sums stay in the
// first-level cache.
constexpr int64_t kBlock = 256;

void Add(int64_t n, const float* a, const float* b, float* y) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = a[i] + b[i];
  }
}

void Scale(int64_t n, const float* x, float factor, float* y) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] * factor;
  }
}

constexpr int LargestPowerOfTwoBelow(int n) {
  int power = 1;
  while (2 * power < n) {
    power *= 2;
  }
  return power;
}

// S(first, kCount) of tree_sum.h for one element or one vector.
template <int kCount, class Element>
inline auto TreeAt(const Element& element, int first) {
  if constexpr (kCount == 1) {
    return element(first);
  } else {
    constexpr int kLeft = LargestPowerOfTwoBelow(kCount);
    return TreeAt<kLeft>(element, first) +
           TreeAt<kCount - kLeft>(element, first + kLeft);
  }
}

template <int kCount>
void SumOf(int64_t n, const float* const* inputs, float* y) {
  const float* in[kCount];
  for (int i = 0; i < kCount; ++i) {
    in[i] = inputs[i];
  }
  int64_t j = 0;
  for (; j + kVecFloats <= n; j += kVecFloats) {
    Store(y + j, TreeAt<kCount>([&](int i) { return Load(in[i] + j); }, 0));
  }
  for (; j < n; ++j) {
    y[j] = TreeAt<kCount>([&](int i) { return in[i][j]; }, 0);
  }
}

// REQUIRES: count in [1, 8].
void SumOfFew(int64_t n, int64_t count, const float* const* inputs, float* y) {
  switch (count) {
    case 1:
      return SumOf<1>(n, inputs, y);
    case 2:
      return SumOf<2>(n, inputs, y);
    case 3:
      return SumOf<3>(n, inputs, y);
    case 4:
      return SumOf<4>(n, inputs, y);
    case 5:
      return SumOf<5>(n, inputs, y);
    case 6:
      return SumOf<6>(n, inputs, y);
    case 7:
      return SumOf<7>(n, inputs, y);
    default:
      return SumOf<8>(n, inputs, y);
  }
}

// One block of any number of inputs: eights first, which are nodes of the tree,
// then the nodes above them as a binary counter (see TileStack in gemm.cc).
void SumOfMany(int64_t first, int64_t n, int64_t count,
               const float* const* inputs, float* y) {
  constexpr int kHeightMax = 11;  // log2(kLeafCountMax / 8) + 2
  float sums[kHeightMax][kBlock];
  int height = 0;
  int64_t nodes = 0;
  for (int64_t i = 0; i < count; i += 8) {
    const int64_t few = count - i < 8 ? count - i : 8;
    const float* shifted[8];
    for (int64_t f = 0; f < few; ++f) {
      shifted[f] = inputs[i + f] + first;
    }
    SumOfFew(n, few, shifted, sums[height]);
    ++height;
    ++nodes;
    for (int64_t bit = nodes; bit % 2 == 0; bit /= 2) {
      --height;
      Add(n, sums[height - 1], sums[height], sums[height - 1]);
    }
  }
  for (; height > 1; --height) {
    Add(n, sums[height - 2], sums[height - 1], sums[height - 2]);
  }
  for (int64_t j = 0; j < n; ++j) {
    y[first + j] = sums[0][j];
  }
}

void TreeSum(int64_t n, int64_t count, const float* const* inputs, float* y) {
  if (count <= 8) {
    SumOfFew(n, count, inputs, y);
    return;
  }
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t left = n - first;
    SumOfMany(first, left < kBlock ? left : kBlock, count, inputs, y);
  }
}

}  // namespace

TreeSumKernels MakeTreeSumKernels() { return {&Add, &Scale, &TreeSum}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
