#include "common/reduction_tree.h"

#include <algorithm>

#include "common/check.h"

namespace selari {
namespace {

constexpr int32_t kLeafCountMax = 1024;

int32_t LevelsFor(int32_t leaf_count) {
  SELARI_CHECK(leaf_count >= 1 && leaf_count <= kLeafCountMax);
  int32_t levels = 1;
  while ((int32_t{1} << (levels - 1)) < leaf_count) {
    ++levels;
  }
  return levels;
}

}  // namespace

ReductionTree::ReductionTree(int32_t leaf_count)
    : leaf_count_(leaf_count), levels_(LevelsFor(leaf_count)) {}

bool ReductionTree::Contains(TreeNode node) const {
  return node.level >= 0 && node.level < levels_ && node.index >= 0 &&
         (static_cast<int64_t>(node.index) << node.level) < leaf_count_;
}

LeafRange ReductionTree::Leaves(TreeNode node) const {
  SELARI_CHECK(Contains(node));
  const int32_t begin = node.index << node.level;
  return {begin, std::min(begin + (int32_t{1} << node.level), leaf_count_)};
}

std::vector<TreeNode> ReductionTree::Cover(LeafRange leaves) const {
  SELARI_CHECK(0 <= leaves.begin && leaves.begin <= leaves.end &&
               leaves.end <= leaf_count_);
  std::vector<TreeNode> nodes;
  int32_t begin = leaves.begin;
  while (begin < leaves.end) {
    // Climb while the node above starts here too and ends inside the range.
    TreeNode node{0, begin};
    while (node.level + 1 < levels_ && node.index % 2 == 0) {
      const TreeNode parent{node.level + 1, node.index / 2};
      if (Leaves(parent).end > leaves.end) {
        break;
      }
      node = parent;
    }
    nodes.push_back(node);
    begin = Leaves(node).end;
  }
  return nodes;
}

LeafRange ReductionTree::LeavesOfWorker(int32_t worker,
                                        int32_t worker_count) const {
  SELARI_CHECK(worker >= 0 && worker < worker_count);
  const int64_t leaves = leaf_count_;
  return {static_cast<int32_t>(leaves * worker / worker_count),
          static_cast<int32_t>(leaves * (worker + 1) / worker_count)};
}

}  // namespace selari
