#include "server/shard/reduction_program.h"

#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

void Add(int64_t n, const float* a, const float* b, float* y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = a[i] + b[i];
  }
}

// The definition: left + right, all the way down to the leaves.
float NodeSum(const ReductionTree& tree, const std::vector<float>& leaves,
              TreeNode node) {
  if (node.level == 0) {
    return leaves[node.index];
  }
  const TreeNode right{node.level - 1, 2 * node.index + 1};
  const float left = NodeSum(tree, leaves, {node.level - 1, 2 * node.index});
  return tree.Contains(right) ? left + NodeSum(tree, leaves, right) : left;
}

// A random cover of the leaves below `node`.
void RandomCover(const ReductionTree& tree, TreeNode node, RandomKey key,
                 uint64_t* counter, std::vector<TreeNode>* cover) {
  if (node.level == 0 || RandomWord(key, (*counter)++) % 3 == 0) {
    cover->push_back(node);
    return;
  }
  for (const int32_t child : {0, 1}) {
    const TreeNode next{node.level - 1, 2 * node.index + child};
    if (tree.Contains(next)) {
      RandomCover(tree, next, key, counter, cover);
    }
  }
}

class ReductionProgramTest : public testing::TestWithParam<int32_t> {};

TEST_P(ReductionProgramTest, AnyCoverGivesTheBitsOfTheLeaves) {
  const ReductionTree tree(GetParam());
  const RandomKey key = MakeRandomKey(GetParam(), RandomStream::kTest, /*a=*/1);
  std::vector<float> leaves(GetParam());
  FillNormal(key, 0, 0.0f, 1.0f, absl::MakeSpan(leaves));
  const float expected = NodeSum(tree, leaves, tree.root());
  uint64_t counter = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<TreeNode> cover;
    RandomCover(tree, tree.root(), key, &counter, &cover);
    std::vector<float> gradients;
    std::vector<const float*> inputs;
    for (const TreeNode& node : cover) {
      gradients.push_back(NodeSum(tree, leaves, node));
    }
    for (const float& gradient : gradients) {
      inputs.push_back(&gradient);
    }
    const ReductionProgram program(tree, cover);
    std::vector<float> scratch(program.scratch_blocks() *
                               ReductionProgram::kBlockFloats);
    ASSERT_EQ(*program.Run(inputs, 1, scratch.data(), Add), expected)
        << cover.size() << " nodes, trial " << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(LeafCounts, ReductionProgramTest,
                         testing::Values(1, 2, 3, 5, 7, 8, 13, 64, 100));

TEST(ReductionProgram, NeedsFewBlocks) {
  const ReductionTree tree(1024);
  std::vector<TreeNode> leaves;
  for (int32_t leaf = 0; leaf < 1024; ++leaf) {
    leaves.push_back({0, leaf});
  }
  EXPECT_EQ(ReductionProgram(tree, leaves).scratch_blocks(), 10);
  EXPECT_EQ(ReductionProgram(tree, {tree.root()}).scratch_blocks(), 0);
}

TEST(ReductionProgram, AnOnlyInputIsNotCopied) {
  const ReductionTree tree(4);
  const ReductionProgram program(tree, {tree.root()});
  const float gradient[4] = {1, 2, 3, 4};
  const float* const input = gradient;
  EXPECT_EQ(program.Run({&input, 1}, 4, nullptr, Add), gradient);
}

}  // namespace
}  // namespace selari
