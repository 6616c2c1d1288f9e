#include "kernels/tree_sum.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

// Counts around the unrolled eight and around nodes without a partner.
std::vector<int64_t> TestCounts() {
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 41, 100};
}

TEST(TreeSumTest, EqualsTheReferenceTreeBitForBit) {
  for (int64_t n : TestSizes()) {
    for (int64_t count : TestCounts()) {
      SCOPED_TRACE(std::to_string(count) + " arrays of " + std::to_string(n));
      std::vector<std::vector<float>> inputs;
      std::vector<const float*> pointers;
      for (int64_t i = 0; i < count; ++i) {
        inputs.push_back(TestFloats(i, n));
      }
      for (const std::vector<float>& input : inputs) {
        pointers.push_back(input.data());
      }
      std::vector<float> want(n);
      reference::TreeSum(n, count, pointers.data(), want.data());
      KernelCase c;
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        std::vector<const float*> in;
        // The sum replaces the first input: aliasing is allowed.
        float* first = arrays->InOut(inputs[0]);
        in.push_back(first);
        for (int64_t i = 1; i < count; ++i) {
          in.push_back(arrays->In(inputs[i]));
        }
        kernels.tree_sum.tree_sum(n, count, in.data(), first);
      };
      c.want = ToDouble(want);
      CheckKernelCase(c);
    }
  }
}

// What lets workers send sums of subtrees in place of leaves.
TEST(TreeSumTest, SumsOfAlignedNodesGiveTheBitsOfTheirLeaves) {
  constexpr int64_t kSize = 100;
  for (int64_t count : TestCounts()) {
    for (int64_t node : {2, 4, 8}) {
      for (IsaLevel level : AvailableLevels()) {
        const auto sum = [&](int64_t per_node) {
          return RunKernel(level, [&](const Kernels& kernels,
                                      TestArrays* arrays) {
            std::vector<const float*> nodes;
            for (int64_t first = 0; first < count; first += per_node) {
              std::vector<const float*> leaves;
              for (int64_t i = first; i < first + per_node && i < count; ++i) {
                leaves.push_back(arrays->In(TestFloats(i, kSize)));
              }
              float* total = arrays->Workspace(kSize);
              kernels.tree_sum.tree_sum(kSize, leaves.size(), leaves.data(),
                                        total);
              nodes.push_back(total);
            }
            kernels.tree_sum.tree_sum(kSize, nodes.size(), nodes.data(),
                                      arrays->Out(kSize));
          });
        };
        SCOPED_TRACE(std::to_string(count) + " by " + std::to_string(node));
        ExpectSameBits(sum(node), sum(1));
      }
    }
  }
}

TEST(TreeSumTest, AddAndScaleRoundOnce) {
  for (int64_t n : TestSizes()) {
    const std::vector<float> a = TestFloats(1, n);
    const std::vector<float> b = TestFloats(2, n);
    KernelCase c;
    c.run = [&](const Kernels& kernels, TestArrays* arrays) {
      kernels.tree_sum.add(n, arrays->In(a), arrays->In(b), arrays->Out(n));
      kernels.tree_sum.scale(n, arrays->In(a), 0.3f, arrays->Out(n));
    };
    for (int64_t i = 0; i < n; ++i) {
      c.want.push_back(a[i] + b[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
      c.want.push_back(a[i] * 0.3f);
    }
    CheckKernelCase(c);
  }
}

}  // namespace
}  // namespace selari
