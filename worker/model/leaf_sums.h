// Sums over leaves, for layers whose kernels give one leaf's gradient at a
// time.

#ifndef SELARI_WORKER_MODEL_LEAF_SUMS_H_
#define SELARI_WORKER_MODEL_LEAF_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/kernels.h"
#include "worker/model/layer.h"

namespace selari {

// Calls `visit(leaf, begin, end)` for each leaf's part of rows [begin, end),
// in order; not for empty parts.
void ForEachLeaf(
    const StepContext& context, int64_t begin, int64_t end,
    absl::FunctionRef<void(int64_t leaf, int64_t begin, int64_t end)> visit);

// The leaves of `nodes`, node after node.
std::vector<int64_t> LeavesOf(absl::Span<const LeafSpan> nodes);

// output = the sum along the tree of `count` >= 1 arrays of `size` floats that
// stand `stride` floats apart from `first` on.
void SumLeaves(const Kernels& kernels, const float* first, int64_t stride,
               int64_t count, int64_t size, float* output);

// The bias gradient of one node: sums output_grad over its rows, leaf by leaf.
// A sample holds `rows_per_sample` rows of `dim` floats. `workspace` has room
// for dim floats a leaf.
struct BiasGradArgs {
  LeafSpan node;
  int64_t rows_per_sample = 1;
  int64_t dim = 0;
  const float* output_grad = nullptr;  // (rows, rows_per_sample, dim)
  float* workspace = nullptr;
  float* bias_grad = nullptr;  // (dim)
};
void BiasGradOfNode(const Kernels& kernels, const StepContext& context,
                    const BiasGradArgs& args);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_LEAF_SUMS_H_
