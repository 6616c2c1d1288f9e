#include "worker/model/leaf_sums.h"

#include <algorithm>
#include <cstddef>

namespace selari {

void ForEachLeaf(
    const StepContext& context, int64_t begin, int64_t end,
    absl::FunctionRef<void(int64_t leaf, int64_t begin, int64_t end)> visit) {
  for (std::size_t leaf = 0; leaf + 1 < context.leaf_begin.size(); ++leaf) {
    const int64_t from = std::max(begin, context.leaf_begin[leaf]);
    const int64_t to = std::min(end, context.leaf_begin[leaf + 1]);
    if (from < to) {
      visit(static_cast<int64_t>(leaf), from, to);
    }
  }
}

std::vector<int64_t> LeavesOf(absl::Span<const LeafSpan> nodes) {
  std::vector<int64_t> leaves;
  for (const LeafSpan& node : nodes) {
    for (int64_t leaf = node.begin; leaf < node.end; ++leaf) {
      leaves.push_back(leaf);
    }
  }
  return leaves;
}

void SumLeaves(const Kernels& kernels, const float* first, int64_t stride,
               int64_t count, int64_t size, float* output) {
  std::vector<const float*> inputs;
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back(first + i * stride);
  }
  kernels.tree_sum.tree_sum(size, count, inputs.data(), output);
}

void BiasGradOfNode(const Kernels& kernels, const StepContext& context,
                    const BiasGradArgs& args) {
  const int64_t sample = args.rows_per_sample * args.dim;
  for (int64_t leaf = args.node.begin; leaf < args.node.end; ++leaf) {
    const std::size_t k = static_cast<std::size_t>(leaf);
    const int64_t begin = context.leaf_begin[k];
    const int64_t rows = context.leaf_begin[k + 1] - begin;
    kernels.bias.grad(rows * args.rows_per_sample, args.dim,
                      args.output_grad + begin * sample,
                      args.workspace + (leaf - args.node.begin) * args.dim);
  }
  SumLeaves(kernels, args.workspace, args.dim, args.node.end - args.node.begin,
            args.dim, args.bias_grad);
}

}  // namespace selari
