// Copies of parts of a matrix in the order in which the tiles of
// micro_kernel.h read them. Copying changes no bit; it saves page walks and
// makes columns readable as vectors.

#ifndef SELARI_KERNELS_CPU_PACK_H_
#define SELARI_KERNELS_CPU_PACK_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/micro_kernel.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

// Part of a matrix B: element (k, j) at begin[k·depth_stride + j·col_stride],
// one of the strides being 1.
struct MatrixPart {
  const float* begin;
  int64_t depth_stride;
  int64_t col_stride;
  int64_t depth;
  int64_t cols;
};

// A (depth, cols) part whose columns stand `stride` apart, transposed: blocks
// of 4 by 4 in registers. `packed` has rows of `padded` floats.
inline void PackTransposed(const MatrixPart& part, int64_t padded,
                           float* __restrict packed) {
  const int64_t stride = part.col_stride;
  int64_t j = 0;
  for (; j + 4 <= part.cols; j += 4) {
    const float* col = part.begin + j * stride;
    int64_t k = 0;
    for (; k + 4 <= part.depth; k += 4) {
      __m128 x0 = _mm_loadu_ps(col + k);
      __m128 x1 = _mm_loadu_ps(col + stride + k);
      __m128 x2 = _mm_loadu_ps(col + 2 * stride + k);
      __m128 x3 = _mm_loadu_ps(col + 3 * stride + k);
      _MM_TRANSPOSE4_PS(x0, x1, x2, x3);
      _mm_storeu_ps(packed + k * padded + j, x0);
      _mm_storeu_ps(packed + (k + 1) * padded + j, x1);
      _mm_storeu_ps(packed + (k + 2) * padded + j, x2);
      _mm_storeu_ps(packed + (k + 3) * padded + j, x3);
    }
    for (; k < part.depth; ++k) {
      for (int64_t i = 0; i < 4; ++i) {
        packed[k * padded + j + i] = col[i * stride + k];
      }
    }
  }
  for (; j < part.cols; ++j) {
    for (int64_t k = 0; k < part.depth; ++k) {
      packed[k * padded + j] = part.begin[j * stride + k];
    }
  }
}

// Writes a part of at most one tile's columns row by row, each row padded with
// zeros to a multiple of a vector. Returns the row length.
inline int64_t PackPanel(const MatrixPart& part, float* __restrict packed) {
  const int64_t padded = RoundUp(part.cols, kVecFloats);
  if (part.col_stride != 1) {
    PackTransposed(part, padded, packed);
  } else if (part.cols == kTileVecs * kVecFloats) {
    for (int64_t k = 0; k < part.depth; ++k) {
      const float* row = part.begin + k * part.depth_stride;
      for (int64_t v = 0; v < kTileVecs; ++v) {
        Store(packed + (k * kTileVecs + v) * kVecFloats,
              Load(row + v * kVecFloats));
      }
    }
  } else {
    for (int64_t k = 0; k < part.depth; ++k) {
      const float* row = part.begin + k * part.depth_stride;
      for (int64_t j = 0; j < part.cols; ++j) {
        packed[k * padded + j] = row[j];
      }
    }
  }
  if (padded != part.cols) {
    for (int64_t k = 0; k < part.depth; ++k) {
      for (int64_t j = part.cols; j < padded; ++j) {
        packed[k * padded + j] = 0.0f;
      }
    }
  }
  return padded;
}

// Rows of A that stand one float apart and whose depth runs in large steps, as
// in Aᵀ: packed[k·kTileRows + i] = a[k·depth_stride + i].
inline void PackRows(const float* a, int64_t depth_stride, int64_t depth,
                     int64_t rows, float* __restrict packed) {
  if (rows == kTileRows) {
    for (int64_t k = 0; k < depth; ++k) {
      __builtin_memcpy(packed + k * kTileRows, a + k * depth_stride,
                       kTileRows * sizeof(float));
    }
    return;
  }
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < rows; ++i) {
      packed[k * kTileRows + i] = a[k * depth_stride + i];
    }
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_CPU_PACK_H_
