#include "server/shard/reduction_program.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace selari {

ReductionProgram::ReductionProgram(const ReductionTree& tree,
                                   std::vector<TreeNode> nodes)
    : nodes_(std::move(nodes)) {
  int32_t next_leaf = 0;
  for (const TreeNode& node : nodes_) {
    const LeafRange leaves = tree.Leaves(node);
    SELARI_CHECK(leaves.begin == next_leaf);
    next_leaf = leaves.end;
  }
  SELARI_CHECK(next_leaf == tree.leaf_count());
  Compile(tree, tree.root(), /*free_block=*/0);
}

// Emits the additions that leave the sum of `node` in an input or in block
// `free_block`; blocks below free_block hold sums that are still needed.
ReductionProgram::Operand ReductionProgram::Compile(const ReductionTree& tree,
                                                    TreeNode node,
                                                    int32_t free_block) {
  const LeafRange leaves = tree.Leaves(node);
  const auto input =
      std::lower_bound(nodes_.begin(), nodes_.end(), leaves.begin,
                       [&tree](const TreeNode& candidate, int32_t begin) {
                         return tree.Leaves(candidate).begin < begin;
                       });
  SELARI_CHECK(input != nodes_.end());
  if (tree.Leaves(*input) == leaves) {
    return static_cast<Operand>(input - nodes_.begin());
  }
  SELARI_CHECK(node.level > 0);
  const TreeNode left{node.level - 1, 2 * node.index};
  const TreeNode right{node.level - 1, 2 * node.index + 1};
  const Operand a = Compile(tree, left, free_block);
  if (!tree.Contains(right)) {
    return a;
  }
  const Operand b = Compile(tree, right, a < 0 ? free_block + 1 : free_block);
  additions_.push_back({a, b, free_block});
  scratch_blocks_ = std::max(scratch_blocks_, free_block + 1);
  return -1 - free_block;
}

const float* ReductionProgram::Run(absl::Span<const float* const> inputs,
                                   int64_t n, float* scratch,
                                   AddFunction add) const {
  if (additions_.empty()) {
    return inputs[0];
  }
  const auto at = [&](Operand operand) -> const float* {
    return operand >= 0 ? inputs[operand]
                        : scratch + (-1 - operand) * kBlockFloats;
  };
  for (const Addition& addition : additions_) {
    add(n, at(addition.a), at(addition.b),
        scratch + addition.destination * kBlockFloats);
  }
  return scratch + additions_.back().destination * kBlockFloats;
}

}  // namespace selari
