// ReductionProgram: how the gradients of some tree nodes that cover all leaves
// are added up to the root's, as a list of additions worked out once and then
// run over a chunk block by block, so that intermediate sums never leave the
// first-level cache.
//
// Thread safety: immutable after construction.

#ifndef SELARI_SERVER_SHARD_REDUCTION_PROGRAM_H_
#define SELARI_SERVER_SHARD_REDUCTION_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/reduction_tree.h"

namespace selari {

// y = a + b, elementwise over n floats; y may be a or b.
using AddFunction = void (*)(int64_t n, const float* a, const float* b,
                             float* y);

class ReductionProgram {
 public:
  // Floats of one block: 8 KiB, so that two operands and a sum stay in L1.
  static constexpr int64_t kBlockFloats = 2048;

  // REQUIRES: `nodes` cover each leaf of `tree` exactly once, left to right.
  ReductionProgram(const ReductionTree& tree, std::vector<TreeNode> nodes);

  absl::Span<const TreeNode> nodes() const { return nodes_; }
  // Blocks of scratch that Run needs; 0 when there is nothing to add.
  int32_t scratch_blocks() const { return scratch_blocks_; }

  // The sum of `n` floats of the nodes' gradients: a place in `scratch`, or the
  // only gradient.
  //   inputs:  (nodes), the first of these floats of each node's gradient
  //   scratch: (scratch_blocks, kBlockFloats)
  // REQUIRES: 0 <= n <= kBlockFloats.
  const float* Run(absl::Span<const float* const> inputs, int64_t n,
                   float* scratch, AddFunction add) const;

 private:
  // An input when >= 0, otherwise block -1 - operand of scratch.
  using Operand = int32_t;
  struct Addition {
    Operand a;
    Operand b;
    int32_t destination;  // block of scratch
  };

  Operand Compile(const ReductionTree& tree, TreeNode node, int32_t free_block);

  std::vector<TreeNode> nodes_;
  std::vector<Addition> additions_;
  int32_t scratch_blocks_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_REDUCTION_PROGRAM_H_
