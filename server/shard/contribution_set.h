// ContributionSet: which parts of one chunk's gradient for one step have come.
//
// Parts are tree nodes. Two parts that overlap were computed from the same
// samples in the same order, so they agree on the leaves they share: the wider
// one is kept, whichever comes first.
//
// Not thread-safe.

#ifndef SELARI_SERVER_SHARD_CONTRIBUTION_SET_H_
#define SELARI_SERVER_SHARD_CONTRIBUTION_SET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/reduction_tree.h"
#include "common/shard_message.h"
#include "server/shard/reduced_gradient.h"
#include "server/shard/reduction_program.h"

namespace selari {

class ContributionSet {
 public:
  // False when the leaves of `node` had all come before; the gradient is then
  // not needed. REQUIRES: tree.Contains(node), gradients of one size.
  bool Add(const ReductionTree& tree, TreeNode node, FloatSlice gradient);

  // True when every leaf has come.
  bool Complete(const ReductionTree& tree) const {
    return leaf_count_ == tree.leaf_count();
  }
  int32_t leaf_count() const { return leaf_count_; }

  // The sum over all leaves; the set is empty afterwards. `cached` holds the
  // program of the last cover: chunk after chunk it is the same.
  // REQUIRES: Complete(tree).
  ReducedGradient Take(const ReductionTree& tree, AddFunction add,
                       std::shared_ptr<const ReductionProgram>* cached);
  void Clear();

 private:
  struct Part {
    TreeNode node;
    LeafRange leaves;
    FloatSlice gradient;
  };

  std::vector<Part> parts_;  // disjoint, left to right
  int32_t leaf_count_ = 0;   // leaves covered by parts_
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTRIBUTION_SET_H_
