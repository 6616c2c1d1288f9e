#include "kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

// Rounding of a chain of `depth` products of numbers up to 1: each of the
// `depth` steps rounds a sum that is itself about sqrt(depth); a factor of 4 on
// the random-walk estimate.
double Tolerance(int64_t depth) {
  return 4.0 * 6e-8 * (1.0 + static_cast<double>(depth));
}

enum class Form { kAb, kAbt, kAtb };

using Run = void (*)(const GemmArgs&);
Run Select(const GemmKernels& gemm, Form form) {
  switch (form) {
    case Form::kAb:
      return gemm.ab;
    case Form::kAbt:
      return gemm.abt;
    default:
      return gemm.atb;
  }
}

std::vector<double> Reference(Form form, const GemmShape& shape,
                              const std::vector<float>& a,
                              const std::vector<float>& b) {
  std::vector<double> c(shape.rows * shape.cols);
  const auto reference = form == Form::kAb    ? &reference::GemmAb<double>
                         : form == Form::kAbt ? &reference::GemmAbt<double>
                                              : &reference::GemmAtb<double>;
  reference(shape, ToDouble(a).data(), ToDouble(b).data(), c.data());
  return c;
}

GemmArgs MakeArgs(const Kernels& kernels, TestArrays* arrays,
                  const GemmShape& shape, const std::vector<float>& a,
                  const std::vector<float>& b) {
  GemmArgs args;
  args.shape = shape;
  args.a = arrays->In(a);
  args.b = arrays->In(b);
  args.workspace = arrays->Workspace(kernels.gemm.workspace_floats(shape));
  return args;
}

class GemmTest : public testing::TestWithParam<Form> {};

TEST_P(GemmTest, AgreesWithTheReferenceOnTheGrid) {
  // Edges of tiles (8 or 4 rows, 48, 24 or 12 columns), of the block of depth
  // (512) and of the number of rows from which B is copied (32).
  for (int64_t rows : {1, 3, 8, 13, 67}) {
    for (int64_t cols : {1, 10, 16, 47, 64, 130}) {
      for (int64_t depth : {0, 1, 17, 600}) {
        const GemmShape shape = {rows, cols, depth};
        const std::vector<float> a = TestFloats(1, rows * depth);
        const std::vector<float> b = TestFloats(2, depth * cols);
        KernelCase c;
        c.name = std::to_string(rows) + "x" + std::to_string(cols) + "x" +
                 std::to_string(depth);
        c.run = [&](const Kernels& kernels, TestArrays* arrays) {
          GemmArgs args = MakeArgs(kernels, arrays, shape, a, b);
          args.c = arrays->Out(rows * cols);
          Select(kernels.gemm, GetParam())(args);
        };
        c.want = Reference(GetParam(), shape, a, b);
        c.absolute = Tolerance(depth);
        c.is_fused = true;
        CheckKernelCase(c);
      }
    }
  }
}

// The contract: one chain per element over the depth.
TEST_P(GemmTest, IsOneChainPerElement) {
  const GemmShape shape = {11, 53, 1100};
  const std::vector<float> a = TestFloats(1, shape.rows * shape.depth);
  const std::vector<float> b = TestFloats(2, shape.depth * shape.cols);
  for (IsaLevel level : AvailableLevels()) {
    SCOPED_TRACE(std::string(IsaLevelName(level)));
    std::vector<float> want;
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t j = 0; j < shape.cols; ++j) {
        float sum = 0.0f;
        for (int64_t k = 0; k < shape.depth; ++k) {
          const float x = GetParam() == Form::kAtb ? a[k * shape.rows + i]
                                                   : a[i * shape.depth + k];
          const float y = GetParam() == Form::kAbt ? b[j * shape.depth + k]
                                                   : b[k * shape.cols + j];
          sum = level == IsaLevel::kV2 ? x * y + sum : std::fma(x, y, sum);
        }
        want.push_back(sum);
      }
    }
    ExpectSameBits(RunKernel(level,
                             [&](const Kernels& kernels, TestArrays* arrays) {
                               GemmArgs args =
                                   MakeArgs(kernels, arrays, shape, a, b);
                               args.c = arrays->Out(shape.rows * shape.cols);
                               Select(kernels.gemm, GetParam())(args);
                             }),
                   want);
  }
}

TEST_P(GemmTest, EpilogueAndAccumulateFollowTheContract) {
  const GemmShape shape = {9, 37, 600};
  const int64_t size = shape.rows * shape.cols;
  const std::vector<float> a = TestFloats(1, shape.rows * shape.depth);
  const std::vector<float> b = TestFloats(2, shape.depth * shape.cols);
  const std::vector<float> old = TestFloats(3, size);
  const std::vector<float> bias = TestFloats(4, shape.cols);
  const std::vector<float> mask = TestFloats(5, size);
  KernelCase c;
  c.run = [&](const Kernels& kernels, TestArrays* arrays) {
    GemmArgs args = MakeArgs(kernels, arrays, shape, a, b);
    args.c = arrays->InOut(old);
    args.accumulate = true;
    args.epilogue.bias = arrays->In(bias);
    args.epilogue.relu = true;
    args.epilogue.relu_output = arrays->In(mask);
    Select(kernels.gemm, GetParam())(args);
  };
  c.want = Reference(GetParam(), shape, a, b);
  for (int64_t i = 0; i < size; ++i) {
    const double x = c.want[i] + old[i] + bias[i % shape.cols];
    c.want[i] = mask[i] <= 0 || x <= 0 ? 0.0 : x;
  }
  c.absolute = Tolerance(shape.depth);
  c.is_fused = true;
  CheckKernelCase(c);
}

INSTANTIATE_TEST_SUITE_P(Forms, GemmTest,
                         testing::Values(Form::kAb, Form::kAbt, Form::kAtb),
                         [](const testing::TestParamInfo<Form>& info) {
                           return info.param == Form::kAb    ? "Ab"
                                  : info.param == Form::kAbt ? "Abt"
                                                             : "Atb";
                         });

// Rows of one call, rows one by one, and parts of the depth: the same bits.
TEST(GemmSplitTest, RowsColumnsAndDepthMayBeSplit) {
  const GemmShape whole = {40, 70, 90};
  const std::vector<float> a = TestFloats(1, whole.rows * whole.depth);
  const std::vector<float> b = TestFloats(2, whole.depth * whole.cols);
  for (IsaLevel level : AvailableLevels()) {
    const auto run = [&](int64_t row_step, int64_t col_step,
                         int64_t depth_step) {
      return RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
        GemmArgs args = MakeArgs(kernels, arrays, whole, a, b);
        const float* const a0 = args.a;
        const float* const b0 = args.b;
        float* const c0 = arrays->Out(whole.rows * whole.cols);
        args.a_stride = whole.depth;
        args.b_stride = args.c_stride = whole.cols;
        for (int64_t i = 0; i < whole.rows; i += row_step) {
          for (int64_t j = 0; j < whole.cols; j += col_step) {
            for (int64_t k = 0; k < whole.depth; k += depth_step) {
              args.shape = {std::min(row_step, whole.rows - i),
                            std::min(col_step, whole.cols - j),
                            std::min(depth_step, whole.depth - k)};
              args.a = a0 + i * whole.depth + k;
              args.b = b0 + k * whole.cols + j;
              args.c = c0 + i * whole.cols + j;
              args.accumulate = k > 0;
              kernels.gemm.ab(args);
            }
          }
        }
      });
    };
    const std::vector<float> want = run(40, 70, 90);
    ExpectSameBits(run(1, 70, 90), want);
    ExpectSameBits(run(7, 11, 90), want);
    ExpectSameBits(run(40, 70, 13), want);
  }
}

TEST(GemmLeavesTest, EqualsEachLeafThenTheTree) {
  const int64_t rows = 21;
  const int64_t cols = 58;
  for (int64_t leaf_count : {1, 2, 3, 7, 8, 13}) {
    std::vector<int64_t> begin = {0};
    for (int64_t l = 0; l < leaf_count; ++l) {
      begin.push_back(begin.back() + 5 + l % 3);
    }
    const GemmShape shape = {rows, cols, begin.back()};
    const std::vector<float> a = TestFloats(1, shape.depth * rows);
    const std::vector<float> b = TestFloats(2, shape.depth * cols);
    KernelCase fused;
    fused.name = std::to_string(leaf_count) + " leaves";
    fused.run = [&](const Kernels& kernels, TestArrays* arrays) {
      GemmLeavesArgs args;
      args.shape = shape;
      args.a = arrays->In(a);
      args.b = arrays->In(b);
      args.c = arrays->Out(rows * cols);
      args.leaf_count = leaf_count;
      args.leaf_begin = begin.data();
      args.workspace = arrays->Workspace(kernels.gemm.workspace_floats(shape));
      kernels.gemm.atb_leaves(args);
    };
    fused.want = Reference(Form::kAtb, shape, a, b);
    fused.absolute = Tolerance(shape.depth);
    fused.is_fused = true;
    CheckKernelCase(fused);
    const auto one_by_one = [&](const Kernels& kernels, TestArrays* arrays) {
      std::vector<const float*> parts;
      float* sum = arrays->Out(rows * cols);
      for (int64_t l = 0; l < leaf_count; ++l) {
        GemmArgs args = MakeArgs(kernels, arrays, shape, a, b);
        args.shape.depth = begin[l + 1] - begin[l];
        args.a += begin[l] * rows;
        args.b += begin[l] * cols;
        args.c = arrays->Workspace(rows * cols);
        kernels.gemm.atb(args);
        parts.push_back(args.c);
      }
      kernels.tree_sum.tree_sum(rows * cols, leaf_count, parts.data(), sum);
    };
    for (IsaLevel level : AvailableLevels()) {
      ExpectSameBits(RunKernel(level, fused.run), RunKernel(level, one_by_one));
    }
  }
}

TEST(GemmNanTest, SpreadsToItsRowOrColumnOnly) {
  const GemmShape shape = {9, 50, 20};
  std::vector<float> a = TestFloats(1, shape.rows * shape.depth);
  std::vector<float> b(shape.depth * shape.cols, 0.0f);
  a[4 * shape.depth + 7] = std::numeric_limits<float>::quiet_NaN();
  for (IsaLevel level : AvailableLevels()) {
    const std::vector<float> c =
        RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
          GemmArgs args = MakeArgs(kernels, arrays, shape, a, b);
          args.c = arrays->Out(shape.rows * shape.cols);
          kernels.gemm.ab(args);
        });
    for (int64_t i = 0; i < shape.rows * shape.cols; ++i) {
      EXPECT_EQ(std::isnan(c[i]), i / shape.cols == 4) << i;
    }
  }
}

}  // namespace
}  // namespace selari
