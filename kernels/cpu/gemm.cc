#include "kernels/gemm.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/micro_kernel.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// Depth of one block: a panel of B, 48 columns wide, is then 96 KiB and stays
// in the second-level cache while all rows of A pass by. Bits do not depend on
// it.
constexpr int64_t kDepthBlock = 512;

// Copying a panel of B pays when this many rows use it: strided rows of B cost
// a page walk each.
constexpr int64_t kPackRows = 4 * kTileRows;

// The three products as one: element (r, k) of A lies at r·a_row + k·a_depth,
// element (k, j) of B at k·b_depth + j·b_col.
struct Product {
  GemmShape shape;
  const float* a;
  int64_t a_row;
  int64_t a_depth;
  const float* b;
  int64_t b_depth;
  int64_t b_col;
  float* c;
  int64_t c_stride;
  bool accumulate;
  GemmEpilogue epilogue;
  float* workspace;
};

int64_t WorkspaceFloats(const GemmShape& shape) {
  const int64_t depth = shape.depth < kDepthBlock ? shape.depth : kDepthBlock;
  // atb_leaves copies the edge at full depth.
  const int64_t panel = depth * kTileVecs * kVecFloats;
  const int64_t edge = shape.depth * kVecFloats;
  return panel > edge ? panel : edge;
}

// Writes a (depth, cols) part of B row by row to `packed`, whose rows are
// padded with zeros to a multiple of a vector. Returns the row length.
int64_t PackPanel(const float* b, int64_t b_depth, int64_t b_col, int64_t depth,
                  int64_t cols, float* __restrict packed) {
  const int64_t padded = RoundUp(cols, kVecFloats);
  for (int64_t k = 0; k < depth; ++k) {
    const float* row = b + k * b_depth;
    float* out = packed + k * padded;
    if (b_col == 1) {
      for (int64_t j = 0; j < cols; ++j) {
        out[j] = row[j];
      }
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        out[j] = row[j * b_col];
      }
    }
    for (int64_t j = cols; j < padded; ++j) {
      out[j] = 0.0f;
    }
  }
  return padded;
}

// All rows of C against one panel of B, for depth indices [k, k + depth).
void RunPanel(const Product& product, int64_t first_col, int64_t cols,
              int64_t k, int64_t depth) {
  Tile tile;
  tile.depth.length = depth;
  tile.depth.step = product.a_depth;
  tile.b = product.b + k * product.b_depth + first_col * product.b_col;
  tile.b_stride = product.b_depth;
  tile.c_stride = product.c_stride;
  tile.accumulate = product.accumulate || k > 0;
  if (product.b_col != 1 || cols % kVecFloats != 0 ||
      (product.shape.rows > kPackRows && product.b_depth > cols)) {
    tile.b_stride = PackPanel(tile.b, product.b_depth, product.b_col, depth,
                              cols, product.workspace);
    tile.b = product.workspace;
  }
  const bool last = k + depth == product.shape.depth;
  for (int64_t r = 0; r < product.shape.rows; r += kTileRows) {
    const int64_t left = product.shape.rows - r;
    const int64_t rows = left < kTileRows ? left : kTileRows;
    const float* a = product.a + r * product.a_row + k * product.a_depth;
    for (int64_t i = 0; i < rows; ++i) {
      tile.a_rows[i] = a + i * product.a_row;
    }
    const int64_t at = r * product.c_stride + first_col;
    tile.c = product.c + at;
    if (last) {
      tile.epilogue = product.epilogue;
      if (tile.epilogue.bias != nullptr) {
        tile.epilogue.bias += first_col;
      }
      if (tile.epilogue.relu_output != nullptr) {
        tile.epilogue.relu_output += at;
      }
    }
    RunAnyTile(rows, cols, tile);
  }
}

void Run(const Product& product) {
  const GemmShape& shape = product.shape;
  int64_t k = 0;
  do {  // once for depth 0: C is then 0, or kept, and the epilogue applied
    const int64_t left = shape.depth - k;
    const int64_t depth = left < kDepthBlock ? left : kDepthBlock;
    for (int64_t col = 0; col < shape.cols;) {
      const int64_t cols = PanelCols(shape.cols - col);
      RunPanel(product, col, cols, k, depth);
      col += cols;
    }
    k += depth;
  } while (k < shape.depth);
}

int64_t StrideOr(int64_t stride, int64_t dense) {
  return stride == 0 ? dense : stride;
}

Product MakeProduct(const GemmArgs& args) {
  Product product;
  product.shape = args.shape;
  product.a = args.a;
  product.b = args.b;
  product.c = args.c;
  product.c_stride = StrideOr(args.c_stride, args.shape.cols);
  product.accumulate = args.accumulate;
  product.epilogue = args.epilogue;
  product.workspace = args.workspace;
  product.a_row = StrideOr(args.a_stride, args.shape.depth);
  product.a_depth = 1;
  product.b_depth = StrideOr(args.b_stride, args.shape.cols);
  product.b_col = 1;
  return product;
}

void Ab(const GemmArgs& args) { Run(MakeProduct(args)); }

void Abt(const GemmArgs& args) {
  Product product = MakeProduct(args);
  product.b_depth = 1;
  product.b_col = StrideOr(args.b_stride, args.shape.depth);
  Run(product);
}

void Atb(const GemmArgs& args) {
  Product product = MakeProduct(args);
  product.a_row = 1;
  product.a_depth = StrideOr(args.a_stride, args.shape.rows);
  Run(product);
}

// Adds up tiles along the tree of tree_sum.h, like a binary counter: after i
// tiles, the stack holds one partial sum per set bit of i.
class TileStack {
 public:
  explicit TileStack(int64_t floats) : floats_(floats) {}

  float* Next() { return tiles_[height_]; }

  // The tile at Next() is complete.
  void Push() {
    ++height_;
    ++count_;
    for (int64_t bit = count_; bit % 2 == 0; bit /= 2) {
      AddTopTwo();
    }
  }

  // Adds what is left, right to left, and returns the sum.
  const float* Finish() {
    while (height_ > 1) {
      AddTopTwo();
    }
    return tiles_[0];
  }

 private:
  static constexpr int kHeightMax = 14;  // log2(kLeafCountMax) + 2

  void AddTopTwo() {
    --height_;
    float* __restrict left = tiles_[height_ - 1];
    const float* __restrict right = tiles_[height_];
    for (int64_t i = 0; i < floats_; i += kVecFloats) {
      Store(left + i, Load(left + i) + Load(right + i));
    }
  }

  const int64_t floats_;
  int64_t count_ = 0;
  int height_ = 0;
  alignas(64) float tiles_[kHeightMax][kTileFloats];
};

// One tile of C: every leaf's chain, then the tree.
void RunLeavesTile(const GemmLeavesArgs& args, int64_t rows, int64_t cols,
                   const Tile& first) {
  const int64_t padded = RoundUp(cols, kVecFloats);
  TileStack stack(rows * padded);
  for (int64_t leaf = 0; leaf < args.leaf_count; ++leaf) {
    const int64_t begin = args.leaf_begin[leaf];
    Tile tile = first;
    tile.depth.length = args.leaf_begin[leaf + 1] - begin;
    tile.b += begin * tile.b_stride;
    for (int64_t i = 0; i < rows; ++i) {
      tile.a_rows[i] += begin * tile.depth.step;
    }
    tile.c = stack.Next();
    tile.c_stride = padded;
    RunFullTile(rows, padded / kVecFloats, tile);
    stack.Push();
  }
  const float* sum = stack.Finish();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      first.c[i * first.c_stride + j] = sum[i * padded + j];
    }
  }
}

void AtbLeaves(const GemmLeavesArgs& args) {
  const GemmShape& shape = args.shape;
  const int64_t b_stride = StrideOr(args.b_stride, shape.cols);
  Tile tile;
  tile.depth.step = StrideOr(args.a_stride, shape.rows);
  tile.c_stride = StrideOr(args.c_stride, shape.cols);
  tile.accumulate = false;
  for (int64_t col = 0; col < shape.cols;) {
    const int64_t cols = PanelCols(shape.cols - col);
    tile.b = args.b + col;
    tile.b_stride = b_stride;
    if (cols % kVecFloats != 0) {
      tile.b_stride =
          PackPanel(tile.b, b_stride, 1, args.leaf_begin[args.leaf_count], cols,
                    args.workspace);
      tile.b = args.workspace;
    }
    for (int64_t r = 0; r < shape.rows; r += kTileRows) {
      const int64_t left = shape.rows - r;
      const int64_t rows = left < kTileRows ? left : kTileRows;
      for (int64_t i = 0; i < rows; ++i) {
        tile.a_rows[i] = args.a + r + i;
      }
      tile.c = args.c + r * tile.c_stride + col;
      RunLeavesTile(args, rows, cols, tile);
    }
    col += cols;
  }
}

}  // namespace

GemmKernels MakeGemmKernels() {
  return {&WorkspaceFloats, &Ab, &Abt, &Atb, &AtbLeaves};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
