// The inner loop that every product and convolution shares: a tile of C, a few
// rows by a few vectors, held in registers while the depth runs by.
//
// Why our own, and not Eigen's product: there, the order of a sum depends on
// the position of the row in the block and on the number of rows, so the bits
// of a sample would depend on how leaves are grouped. Here every element is one
// chain over the depth (see gemm.h), whatever tile it falls in; a convolution
// needs no im2col, because rows of A are given by pointers; and the leaf tree
// is added up while the tile is still in cache. gemm_benchmark.cc compares the
// speed of both.

#ifndef SELARI_KERNELS_CPU_MICRO_KERNEL_H_
#define SELARI_KERNELS_CPU_MICRO_KERNEL_H_

#include <cstdint>

#include "kernels/cpu/vec.h"
#include "kernels/gemm.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

// Rows × vectors of the largest tile. The accumulators, one row of B and one
// broadcast must fit in the registers: 24 + 3 + 1 of 32 at v4, 12 + 3 + 1 of 16
// below.
constexpr int kTileRows = SELARI_ISA_LEVEL >= 4 ? 8 : 4;
constexpr int kTileVecs = 3;
constexpr int64_t kTileFloats = kTileRows * kTileVecs * kVecFloats;

// The order in which the depth of a product is walked. Element k of segment s
// of a row of A lies `s·segment_stride + k·step` floats after the row's
// pointer; rows of B follow each other, `b_stride` floats apart.
struct Depth {
  int64_t segments = 1;
  int64_t length = 0;  // of one segment
  int64_t segment_stride = 0;
  int64_t step = 1;
};

struct Tile {
  const float* a_rows[kTileRows];
  Depth depth;
  const float* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  bool accumulate;  // start from the old C, else from 0
  // Tiles of the same rows, dense and as wide as the vectors, that are added to
  // the finished sums, last one first: addend + sum.
  const float* const* addends = nullptr;
  int64_t addend_count = 0;
  // Applied last, when set. bias and relu_output are already moved to this
  // tile.
  bool has_epilogue = false;
  GemmEpilogue epilogue;
};

inline Vec ApplyEpilogue(const GemmEpilogue& epilogue, int64_t at, int64_t col,
                         Vec x) {
  if (epilogue.bias != nullptr) {
    x += Load(epilogue.bias + col);
  }
  if (epilogue.relu) {
    x = ZeroUnlessPositive(x, x);
  }
  if (epilogue.relu_output != nullptr) {
    x = ZeroUnlessPositive(Load(epilogue.relu_output + at), x);
  }
  return x;
}

inline float ApplyEpilogue(const GemmEpilogue& epilogue, int64_t at,
                           int64_t col, float x) {
  if (epilogue.bias != nullptr) {
    x += epilogue.bias[col];
  }
  if (epilogue.relu) {
    x = ZeroUnlessPositive(x, x);
  }
  if (epilogue.relu_output != nullptr) {
    x = ZeroUnlessPositive(epilogue.relu_output[at], x);
  }
  return x;
}

template <int kRows, int kVecs>
inline void AddAddends(const Tile& tile, Vec (&sums)[kRows][kVecs]) {
  for (int64_t i = tile.addend_count - 1; i >= 0; --i) {
    const float* addend = tile.addends[i];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) {
        sums[r][v] = Load(addend + (r * kVecs + v) * kVecFloats) + sums[r][v];
      }
    }
  }
}

template <int kRows, int kVecs>
inline void StoreTile(const Tile& tile, const Vec (&sums)[kRows][kVecs]) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) {
      const int64_t col = v * kVecFloats;
      const int64_t at = r * tile.c_stride + col;
      Store(tile.c + at, tile.has_epilogue
                             ? ApplyEpilogue(tile.epilogue, at, col, sums[r][v])
                             : sums[r][v]);
    }
  }
}

// c(kRows, kVecs vectors) = epilogue(addends + chain over depth of a · b).
template <int kRows, int kVecs>
void RunTile(const Tile& tile) {
  Vec sums[kRows][kVecs];
  const float* a[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    a[r] = tile.a_rows[r];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) {
      sums[r][v] = tile.accumulate
                       ? Load(tile.c + r * tile.c_stride + v * kVecFloats)
                       : Vec{};
    }
  }
  const float* b = tile.b;
  const int64_t b_stride = tile.b_stride;
  const int64_t step = tile.depth.step;
  for (int64_t s = 0; s < tile.depth.segments; ++s) {
    int64_t offset = s * tile.depth.segment_stride;
    for (int64_t k = 0; k < tile.depth.length; ++k) {
      Vec b_row[kVecs];
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) {
        b_row[v] = Load(b + v * kVecFloats);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vec a_element = Broadcast(a[r][offset]);
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) {
          sums[r][v] = MulAdd(a_element, b_row[v], sums[r][v]);
        }
      }
      b += b_stride;
      offset += step;
    }
  }
  if (tile.addend_count > 0) {
    AddAddends(tile, sums);
  }
  if (tile.has_epilogue) {
    StoreTile(tile, sums);
  } else {
    Tile plain;  // lets the compiler drop every question about the epilogue
    plain.c = tile.c;
    plain.c_stride = tile.c_stride;
    plain.has_epilogue = false;
    StoreTile(plain, sums);
  }
}

template <int kVecs>
void RunTileOfRows(int64_t rows, const Tile& tile) {
  switch (rows) {
    case 1:
      return RunTile<1, kVecs>(tile);
    case 2:
      return RunTile<2, kVecs>(tile);
    case 3:
      return RunTile<3, kVecs>(tile);
    case 4:
      return RunTile<4, kVecs>(tile);
#if SELARI_ISA_LEVEL >= 4
    case 5:
      return RunTile<5, kVecs>(tile);
    case 6:
      return RunTile<6, kVecs>(tile);
    case 7:
      return RunTile<7, kVecs>(tile);
    case 8:
      return RunTile<8, kVecs>(tile);
#endif
    default:
      return;
  }
}

// rows in [1, kTileRows], vecs in [1, kTileVecs].
inline void RunFullTile(int64_t rows, int64_t vecs, const Tile& tile) {
  switch (vecs) {
    case 1:
      return RunTileOfRows<1>(rows, tile);
    case 2:
      return RunTileOfRows<2>(rows, tile);
    default:
      return RunTileOfRows<3>(rows, tile);
  }
}

// The same where C has only `cols` columns here, fewer than the vectors hold;
// b must be readable (and padded with any finite number) up to the vectors'
// end.
inline void RunTileAtEdge(int64_t rows, int64_t cols, const Tile& tile) {
  alignas(64) float sums[kTileFloats];
  const int64_t vecs = (cols + kVecFloats - 1) / kVecFloats;
  Tile inner = tile;
  inner.c = sums;
  inner.c_stride = vecs * kVecFloats;
  inner.has_epilogue = false;
  if (tile.accumulate) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < inner.c_stride; ++j) {
        sums[r * inner.c_stride + j] =
            j < cols ? tile.c[r * tile.c_stride + j] : 0.0f;
      }
    }
  }
  RunFullTile(rows, vecs, inner);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t at = r * tile.c_stride + j;
      const float sum = sums[r * inner.c_stride + j];
      tile.c[at] =
          tile.has_epilogue ? ApplyEpilogue(tile.epilogue, at, j, sum) : sum;
    }
  }
}

inline void RunAnyTile(int64_t rows, int64_t cols, const Tile& tile) {
  if (cols % kVecFloats == 0) {
    RunFullTile(rows, cols / kVecFloats, tile);
  } else {
    RunTileAtEdge(rows, cols, tile);
  }
}

// Columns of the next panel when `left` remain: whole tiles, but two even ones
// rather than a full and a thin one, and an edge of its own.
inline int64_t PanelCols(int64_t left) {
  const int64_t vecs = left / kVecFloats;
  if (vecs == 0) {
    return left;
  }
  return (vecs == 4 ? 2 : vecs < kTileVecs ? vecs : kTileVecs) * kVecFloats;
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_CPU_MICRO_KERNEL_H_
