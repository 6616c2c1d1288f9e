#include "kernels/gemm.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/micro_kernel.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// How a product is cut, after Goto and van de Geijn ("Anatomy of high-
// performance matrix multiplication", 2008): a block of B, at most 256 by 1536
// floats (1.5 MiB), stays in the second-level cache while all rows of A pass
// by; a strip of A, 8 by 256, stays in the first-level cache while the panels
// of that block pass by. No bit depends on these numbers.
constexpr int64_t kDepthBlock = 256;
constexpr int64_t kGroupPanels = 32;
constexpr int64_t kPanelColsMax = kTileVecs * kVecFloats;

// Copying B or A pays when the copy is used by this many strips or panels.
constexpr int64_t kPackRows = 4 * kTileRows;
constexpr int64_t kPackCols = 2 * kPanelColsMax;

int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }

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
  bool has_epilogue;
  GemmEpilogue epilogue;
  float* workspace;
};

// A few columns of a block of B, as the tiles read them.
struct Panel {
  int64_t col;
  int64_t cols;
  const float* b;
  int64_t stride;
};

int64_t WorkspaceFloats(const GemmShape& shape) {
  // One strip of A and one group of B. atb_leaves takes the whole depth at
  // once.
  const int64_t cols =
      Min(RoundUp(shape.cols, kVecFloats), kGroupPanels * kPanelColsMax);
  return shape.depth * (kTileRows + cols);
}

// The panels of B for depth indices [k, k + depth) from column `col` on, copied
// to `packed` where that pays or is needed. Returns the end of the columns.
int64_t MakePanels(const Product& product, int64_t k, int64_t depth,
                   int64_t col, float* packed, Panel* panels, int* count) {
  *count = 0;
  while (col < product.shape.cols && *count < kGroupPanels) {
    const int64_t cols = PanelCols(product.shape.cols - col);
    const MatrixPart part = {
        product.b + k * product.b_depth + col * product.b_col, product.b_depth,
        product.b_col, depth, cols};
    Panel panel = {col, cols, part.begin, product.b_depth};
    if (product.b_col != 1 || cols % kVecFloats != 0 ||
        (product.shape.rows >= kPackRows && product.b_depth > cols)) {
      panel.stride = PackPanel(part, packed);
      panel.b = packed;
      packed += depth * panel.stride;
    }
    panels[(*count)++] = panel;
    col += cols;
  }
  return col;
}

// Points the tile's rows at `rows` rows of A, copied to `packed` first where
// that pays.
void PointAtRows(const Product& product, int64_t r, int64_t rows, int64_t k,
                 int64_t depth, float* packed, Tile* tile) {
  const float* a = product.a + r * product.a_row + k * product.a_depth;
  int64_t row_stride = product.a_row;
  tile->depth.step = product.a_depth;
  if (product.a_depth != 1 && product.shape.cols >= kPackCols) {
    PackRows(a, product.a_depth, depth, rows, packed);
    a = packed;
    row_stride = 1;
    tile->depth.step = kTileRows;
  }
  for (int64_t i = 0; i < rows; ++i) {
    tile->a_rows[i] = a + i * row_stride;
  }
}

GemmEpilogue EpilogueAt(const GemmEpilogue& epilogue, int64_t at, int64_t col) {
  GemmEpilogue moved = epilogue;
  if (moved.bias != nullptr) {
    moved.bias += col;
  }
  if (moved.relu_output != nullptr) {
    moved.relu_output += at;
  }
  return moved;
}

// All rows of C against some panels, for depth indices [k, k + depth).
void RunPanels(const Product& product, int64_t k, int64_t depth,
               const Panel* panels, int panel_count, float* packed_a) {
  Tile tile;
  tile.depth.length = depth;
  tile.c_stride = product.c_stride;
  tile.accumulate = product.accumulate || k > 0;
  tile.has_epilogue = product.has_epilogue && k + depth == product.shape.depth;
  for (int64_t r = 0; r < product.shape.rows; r += kTileRows) {
    const int64_t rows = Min(product.shape.rows - r, kTileRows);
    PointAtRows(product, r, rows, k, depth, packed_a, &tile);
    for (int i = 0; i < panel_count; ++i) {
      const Panel& panel = panels[i];
      const int64_t at = r * product.c_stride + panel.col;
      tile.b = panel.b;
      tile.b_stride = panel.stride;
      tile.c = product.c + at;
      if (tile.has_epilogue) {
        tile.epilogue = EpilogueAt(product.epilogue, at, panel.col);
      }
      RunAnyTile(rows, panel.cols, tile);
    }
  }
}

void Run(const Product& product) {
  float* const packed_a = product.workspace;
  Panel panels[kGroupPanels];
  int panel_count = 0;
  int64_t k = 0;
  do {  // once for depth 0: C is then 0, or kept, and the epilogue applied
    const int64_t depth = Min(product.shape.depth - k, kDepthBlock);
    float* const packed_b = packed_a + depth * kTileRows;
    for (int64_t col = 0; col < product.shape.cols;) {
      col = MakePanels(product, k, depth, col, packed_b, panels, &panel_count);
      RunPanels(product, k, depth, panels, panel_count, packed_a);
    }
    k += depth;
  } while (k < product.shape.depth);
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
  product.has_epilogue = args.epilogue.bias != nullptr || args.epilogue.relu ||
                         args.epilogue.relu_output != nullptr;
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

// log2(kLeafCountMax) + 1 partial sums and the leaf at work.
constexpr int kStackMax = 14;

// One tile of C: every leaf's chain, then the tree of tree_sum.h. The tree is
// walked like a binary counter: after i leaves, the stack holds one partial sum
// per set bit of i. A leaf that completes nodes adds them to its own sums while
// these are still in registers.
void RunLeavesTile(const GemmLeavesArgs& args, int64_t rows, int64_t cols,
                   const Tile& first) {
  alignas(64) float stack[kStackMax][kTileFloats];
  const float* tiles[kStackMax];
  for (int i = 0; i < kStackMax; ++i) {
    tiles[i] = stack[i];
  }
  const int64_t vecs = RoundUp(cols, kVecFloats) / kVecFloats;
  int64_t height = 0;
  Tile tile = first;
  for (int64_t leaf = 0; leaf < args.leaf_count; ++leaf) {
    const int64_t begin = args.leaf_begin[leaf];
    const bool last = leaf + 1 == args.leaf_count;
    int64_t completed = 0;
    for (int64_t bits = leaf + 1; bits % 2 == 0; bits /= 2) {
      ++completed;
    }
    tile.addend_count = last ? height : completed;
    height -= tile.addend_count;
    tile.addends = tiles + height;
    tile.depth.length = args.leaf_begin[leaf + 1] - begin;
    tile.b = first.b + begin * first.b_stride;
    for (int64_t i = 0; i < rows; ++i) {
      tile.a_rows[i] = first.a_rows[i] + begin * first.depth.step;
    }
    const bool direct = last && cols % kVecFloats == 0;
    tile.c = direct ? first.c : stack[height];
    tile.c_stride = direct ? first.c_stride : vecs * kVecFloats;
    RunFullTile(rows, vecs, tile);
    ++height;
  }
  if (cols % kVecFloats != 0) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        first.c[i * first.c_stride + j] = stack[0][i * vecs * kVecFloats + j];
      }
    }
  }
}

void AtbLeaves(const GemmLeavesArgs& args) {
  Product product = {};
  product.shape = args.shape;
  product.shape.depth = args.leaf_begin[args.leaf_count];
  product.a = args.a;
  product.a_row = 1;
  product.a_depth = StrideOr(args.a_stride, args.shape.rows);
  product.b = args.b;
  product.b_depth = StrideOr(args.b_stride, args.shape.cols);
  product.b_col = 1;
  const int64_t depth = product.shape.depth;
  float* const packed_b = args.workspace + depth * kTileRows;
  Panel panels[kGroupPanels];
  int panel_count = 0;
  Tile tile;
  tile.c_stride = StrideOr(args.c_stride, args.shape.cols);
  tile.accumulate = false;
  for (int64_t col = 0; col < args.shape.cols;) {
    col = MakePanels(product, 0, depth, col, packed_b, panels, &panel_count);
    for (int64_t r = 0; r < args.shape.rows; r += kTileRows) {
      const int64_t rows = Min(args.shape.rows - r, kTileRows);
      PointAtRows(product, r, rows, 0, depth, args.workspace, &tile);
      for (int i = 0; i < panel_count; ++i) {
        tile.b = panels[i].b;
        tile.b_stride = panels[i].stride;
        tile.c = args.c + r * tile.c_stride + panels[i].col;
        RunLeavesTile(args, rows, panels[i].cols, tile);
      }
    }
  }
}

}  // namespace

GemmKernels MakeGemmKernels() {
  return {&WorkspaceFloats, &Ab, &Abt, &Atb, &AtbLeaves};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
