// Matrix products, fp32, row-major.
//
//   ab    C(rows, cols) = A(rows, depth) · B(depth, cols)
//   abt   C(rows, cols) = A(rows, depth) · B(cols, depth)ᵀ
//   atb   C(rows, cols) = A(depth, rows)ᵀ · B(depth, cols)
//
// Determinism: each element of C is one chain over the depth index k in
// ascending order, s ← a·b + s, fused at v3 and v4 and rounded twice at v2.
// The chain starts at 0, or at the old element when `accumulate` is set.
// Nothing else decides the bits: not the blocking, the alignment, the strides,
// the other rows and columns of the call, nor v3 against v4. So
//   * rows of several leaves may be multiplied in one call, or one by one;
//   * a caller may split rows or columns over threads;
//   * a product may be cut along depth by `accumulate`.
//
// NaN and infinity spread as IEEE says; zeros are never skipped.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_GEMM_H_
#define SELARI_KERNELS_GEMM_H_

#include <cstdint>

namespace selari {

// All at least 0. With rows or cols 0 nothing happens; with depth 0 each sum
// is empty.
struct GemmShape {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t depth = 0;
};

// What is done to each finished sum x, in this order; saves a pass over C.
struct GemmEpilogue {
  // (cols), or null: x ← x + bias[column].
  const float* bias = nullptr;
  // x ← relu(x), see relu.h.
  bool relu = false;
  // (rows, cols) with the stride of C, or null: x ← mask ≤ 0 ? 0 : x. With the
  // output of a ReLU as mask, this is that ReLU's backward pass.
  const float* relu_output = nullptr;
};

struct GemmArgs {
  GemmShape shape;
  const float* a = nullptr;  // shape as the operation says
  const float* b = nullptr;  // shape as the operation says
  float* c = nullptr;        // (rows, cols); must not overlap any input
  // Floats from one row to the next; 0 means dense.
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  // Start each chain at the old C instead of 0.
  bool accumulate = false;
  GemmEpilogue epilogue;
  // At least workspace_floats(shape) floats; contents undefined after. May be
  // null when that is 0.
  float* workspace = nullptr;
};

// The weight gradient of several leaves in one pass: leaf l owns the depth
// indices [leaf_begin[l], leaf_begin[l + 1]). For each leaf the chain of atb
// starts at 0, and the leaves' results are added along the tree of
// tree_sum.h. The result is bit-equal to atb per leaf followed by tree_sum.
struct GemmLeavesArgs {
  GemmShape shape;           // depth is not used: leaf_begin[leaf_count] is
  const float* a = nullptr;  // (depth, rows)
  const float* b = nullptr;  // (depth, cols)
  float* c = nullptr;        // (rows, cols), overwritten
  int64_t leaf_count = 0;    // in [1, kLeafCountMax of tree_sum.h]
  const int64_t* leaf_begin = nullptr;  // (leaf_count + 1), not decreasing
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  float* workspace = nullptr;  // workspace_floats(shape) with the full depth
};

struct GemmKernels {
  // Enough for any of the operations below; does not grow with rows, so a
  // workspace for one shape serves fewer or more rows.
  int64_t (*workspace_floats)(const GemmShape& shape);
  void (*ab)(const GemmArgs& args);
  void (*abt)(const GemmArgs& args);
  void (*atb)(const GemmArgs& args);
  void (*atb_leaves)(const GemmLeavesArgs& args);
};

}  // namespace selari

#endif  // SELARI_KERNELS_GEMM_H_
