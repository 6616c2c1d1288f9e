// The tree along which the gradients of a global batch are summed.
//
// A global batch is cut into V leaves. Node (level, index) covers the leaves
// [index * 2^level, min((index + 1) * 2^level, V)); its children are
// (level - 1, 2 * index) and (level - 1, 2 * index + 1). A node's sum is
// left + right, elementwise in fp32; a node whose right child covers no leaf
// equals its left child. So the sum of the root never depends on who computed
// which part, as long as parts are whole nodes.
//
// Thread safety: plain values and pure functions.

#ifndef SELARI_COMMON_REDUCTION_TREE_H_
#define SELARI_COMMON_REDUCTION_TREE_H_

#include <cstdint>
#include <vector>

namespace selari {

struct TreeNode {
  int32_t level = 0;
  int32_t index = 0;

  friend bool operator==(const TreeNode& a, const TreeNode& b) {
    return a.level == b.level && a.index == b.index;
  }
};

// A half-open range of leaves.
struct LeafRange {
  int32_t begin = 0;
  int32_t end = 0;

  int32_t size() const { return end - begin; }
  friend bool operator==(const LeafRange& a, const LeafRange& b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

class ReductionTree {
 public:
  // REQUIRES: 1 <= leaf_count <= 1024.
  explicit ReductionTree(int32_t leaf_count);

  int32_t leaf_count() const { return leaf_count_; }
  TreeNode root() const { return {levels_ - 1, 0}; }

  // True when the node exists and covers at least one leaf.
  bool Contains(TreeNode node) const;

  // REQUIRES: Contains(node).
  LeafRange Leaves(TreeNode node) const;

  // The fewest nodes that cover exactly `leaves`, from left to right. Empty
  // for an empty range. REQUIRES: 0 <= begin <= end <= leaf_count.
  std::vector<TreeNode> Cover(LeafRange leaves) const;

  // The leaves of worker `worker` out of `worker_count`: contiguous, sizes
  // differ by at most one, empty when there are more workers than leaves.
  LeafRange LeavesOfWorker(int32_t worker, int32_t worker_count) const;

 private:
  const int32_t leaf_count_;
  const int32_t levels_;
};

}  // namespace selari

#endif  // SELARI_COMMON_REDUCTION_TREE_H_
