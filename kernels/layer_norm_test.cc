#include "kernels/layer_norm.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

constexpr float kEpsilon = 1e-3f;

// Inputs of one case and the reference's results in double.
struct Case {
  Case(int64_t rows, int64_t dim)
      : rows(rows),
        dim(dim),
        x(TestFloats(1, rows * dim)),
        gain(TestFloats(2, dim)),
        bias(TestFloats(3, dim)),
        output_grad(TestFloats(4, rows * dim)),
        y(rows * dim),
        mean(rows),
        rstd(rows),
        input_grad(rows * dim),
        gain_grad(dim),
        bias_grad(dim) {
    reference::LayerNormForward<double>(
        rows, dim, kEpsilon, ToDouble(x).data(), ToDouble(gain).data(),
        ToDouble(bias).data(), y.data(), mean.data(), rstd.data());
    reference::LayerNormBackward(
        rows, dim, ToDouble(x).data(), ToDouble(gain).data(), mean.data(),
        rstd.data(), ToDouble(output_grad).data(), input_grad.data(),
        gain_grad.data(), bias_grad.data());
  }

  std::vector<double> AllResults() const {
    std::vector<double> all;
    for (const auto* part :
         {&mean, &rstd, &y, &gain_grad, &bias_grad, &input_grad}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }

  const int64_t rows;
  const int64_t dim;
  const std::vector<float> x, gain, bias, output_grad;
  std::vector<double> y, mean, rstd, input_grad, gain_grad, bias_grad;
};

void RunBothPasses(const Case& in, const Kernels& kernels, TestArrays* arrays) {
  LayerNormForwardArgs forward;
  LayerNormBackwardArgs backward;
  forward.rows = backward.rows = in.rows;
  forward.dim = backward.dim = in.dim;
  forward.epsilon = kEpsilon;
  forward.x = backward.x = arrays->In(in.x);
  forward.gain = backward.gain = arrays->In(in.gain);
  forward.bias = arrays->In(in.bias);
  forward.mean = arrays->Out(in.rows);
  forward.rstd = arrays->Out(in.rows);
  forward.y = arrays->Out(in.rows * in.dim);
  kernels.layer_norm.forward(forward);
  backward.mean = forward.mean;
  backward.rstd = forward.rstd;
  backward.gain_grad = arrays->Out(in.dim);
  backward.bias_grad = arrays->Out(in.dim);
  backward.input_grad = arrays->InOut(in.output_grad);
  backward.output_grad = backward.input_grad;
  backward.workspace =
      arrays->Workspace(kernels.layer_norm.workspace_floats(in.dim));
  kernels.layer_norm.backward(backward);
}

TEST(LayerNormTest, ForwardAndBackwardAgreeWithTheReference) {
  for (int64_t rows : {0, 1, 3, 67}) {
    for (int64_t dim : {1, 2, 15, 16, 17, 64, 385}) {
      const Case in(rows, dim);
      KernelCase c;
      c.name = std::to_string(rows) + "x" + std::to_string(dim);
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        RunBothPasses(in, kernels, arrays);
      };
      c.want = in.AllResults();
      // A few roundings, magnified by rstd, which is at most 1/√epsilon = 32.
      c.absolute = 32 * 6e-8 * 16;
      c.relative = 1e-5;
      CheckKernelCase(c);
    }
  }
}

// The oracle's gradients against central differences of its forward pass.
TEST(LayerNormTest, ReferenceGradientsMatchFiniteDifferences) {
  const Case in(2, 5);
  std::vector<double> x = ToDouble(in.x);
  std::vector<double> gain = ToDouble(in.gain);
  std::vector<double> bias = ToDouble(in.bias);
  const auto objective = [&] {
    std::vector<double> y(10), mean(2), rstd(2);
    reference::LayerNormForward<double>(2, 5, kEpsilon, x.data(), gain.data(),
                                        bias.data(), y.data(), mean.data(),
                                        rstd.data());
    double sum = 0.0;
    for (int i = 0; i < 10; ++i) {
      sum += y[i] * in.output_grad[i];
    }
    return sum;
  };
  const auto check = [&](std::vector<double>* values,
                         const std::vector<double>& want) {
    for (size_t i = 0; i < want.size(); ++i) {
      const double old = (*values)[i];
      (*values)[i] = old + 1e-5;
      const double above = objective();
      (*values)[i] = old - 1e-5;
      const double below = objective();
      (*values)[i] = old;
      EXPECT_NEAR((above - below) / 2e-5, want[i], 1e-7);
    }
  };
  check(&x, in.input_grad);
  check(&gain, in.gain_grad);
  check(&bias, in.bias_grad);
}

}  // namespace
}  // namespace selari
