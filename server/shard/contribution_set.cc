#include "server/shard/contribution_set.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "common/check.h"

namespace selari {

bool ContributionSet::Add(const ReductionTree& tree, TreeNode node,
                          FloatSlice gradient) {
  const LeafRange leaves = tree.Leaves(node);
  // Nodes are nested or disjoint, so the parts that overlap `leaves` are
  // either one that contains it or a run that it contains.
  const auto first = std::partition_point(
      parts_.begin(), parts_.end(),
      [&leaves](const Part& part) { return part.leaves.end <= leaves.begin; });
  auto last = first;
  int32_t replaced = 0;
  while (last != parts_.end() && last->leaves.begin < leaves.end) {
    replaced += last->leaves.size();
    ++last;
  }
  if (first != last && replaced >= leaves.size()) {
    return false;
  }
  leaf_count_ += leaves.size() - replaced;
  Part part{node, leaves, std::move(gradient)};
  if (first == last) {
    parts_.insert(first, std::move(part));
  } else {
    *first = std::move(part);
    parts_.erase(first + 1, last);
  }
  return true;
}

ReducedGradient ContributionSet::Take(
    const ReductionTree& tree, AddFunction add,
    std::shared_ptr<const ReductionProgram>* cached) {
  SELARI_CHECK(Complete(tree));
  if (parts_.size() == 1) {
    ReducedGradient only(std::move(parts_[0].gradient));
    Clear();
    return only;
  }
  const bool same_cover =
      *cached != nullptr &&
      std::equal(parts_.begin(), parts_.end(), (*cached)->nodes().begin(),
                 (*cached)->nodes().end(),
                 [](const Part& part, const TreeNode& node) {
                   return part.node == node;
                 });
  if (!same_cover) {
    std::vector<TreeNode> nodes;
    for (const Part& part : parts_) {
      nodes.push_back(part.node);
    }
    *cached = std::make_shared<const ReductionProgram>(tree, std::move(nodes));
  }
  ReducedGradient::Inputs inputs;
  inputs.reserve(parts_.size());
  for (Part& part : parts_) {
    inputs.push_back(std::move(part.gradient));
  }
  Clear();
  return ReducedGradient(std::move(inputs), *cached, add);
}

void ContributionSet::Clear() {
  parts_.clear();
  leaf_count_ = 0;
}

}  // namespace selari
