#include "kernels/loss.h"

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

constexpr float kScale = 0.125f;

std::vector<float> Times(float factor, std::vector<float> values) {
  for (float& value : values) {
    value *= factor;
  }
  return values;
}

KernelCase MakeCase(const std::string& name, const std::vector<double>& loss,
                    const std::vector<double>& grad) {
  KernelCase c;
  c.name = name;
  c.want = loss;
  c.want.insert(c.want.end(), grad.begin(), grad.end());
  // A few ulp of exp, log and a sum, on numbers up to about 50.
  c.absolute = 1e-6;
  c.relative = 2e-6;
  return c;
}

TEST(LossTest, SoftmaxCrossEntropyAgreesWithTheReference) {
  for (int64_t rows : {0, 1, 3, 8}) {
    for (int64_t classes : {1, 2, 10, 16, 17, 385}) {
      // Logits up to 20: probabilities down to 1e-17.
      const std::vector<float> logits =
          Times(20.0f, TestFloats(1, rows * classes));
      const std::vector<int32_t> labels = TestLabels(2, rows, classes);
      std::vector<double> loss(rows);
      std::vector<double> grad(rows * classes);
      reference::SoftmaxCrossEntropy<double>(
          rows, classes, ToDouble(logits).data(), labels.data(), kScale,
          loss.data(), grad.data());
      KernelCase c = MakeCase(
          std::to_string(rows) + "x" + std::to_string(classes), loss, grad);
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        SoftmaxCrossEntropyArgs args;
        args.rows = rows;
        args.classes = classes;
        args.labels = labels.data();
        args.scale = kScale;
        args.loss = arrays->Out(rows);
        args.grad = arrays->InOut(logits);  // in place
        args.logits = args.grad;
        kernels.loss.softmax_cross_entropy(args);
      };
      CheckKernelCase(c);
    }
  }
}

TEST(LossTest, LogisticAgreesWithTheReference) {
  for (int64_t rows : TestSizes()) {
    const std::vector<float> logits = Times(40.0f, TestFloats(1, rows));
    const std::vector<int32_t> labels = TestLabels(2, rows, 2);
    std::vector<double> loss(rows);
    std::vector<double> grad(rows);
    reference::Logistic<double>(rows, ToDouble(logits).data(), labels.data(),
                                kScale, loss.data(), grad.data());
    KernelCase c = MakeCase(std::to_string(rows), loss, grad);
    c.run = [&](const Kernels& kernels, TestArrays* arrays) {
      LogisticArgs args;
      args.rows = rows;
      args.labels = labels.data();
      args.scale = kScale;
      args.loss = arrays->Out(rows);
      args.grad = arrays->InOut(logits);
      args.logits = args.grad;
      kernels.loss.logistic(args);
    };
    CheckKernelCase(c);
  }
}

TEST(LossTest, SquaredErrorAgreesWithTheReference) {
  for (int64_t rows : {0, 1, 3, 67}) {
    for (int64_t dim : TestDims()) {
      const std::vector<float> predicted = TestFloats(1, rows * dim);
      const std::vector<float> target = TestFloats(2, rows * dim);
      std::vector<double> loss(rows);
      std::vector<double> grad(rows * dim);
      reference::SquaredError<double>(rows, dim, ToDouble(predicted).data(),
                                      ToDouble(target).data(), kScale,
                                      loss.data(), grad.data());
      KernelCase c = MakeCase(std::to_string(rows) + "x" + std::to_string(dim),
                              loss, grad);
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        SquaredErrorArgs args;
        args.rows = rows;
        args.dim = dim;
        args.target = arrays->In(target);
        args.scale = kScale;
        args.loss = arrays->Out(rows);
        args.grad = arrays->InOut(predicted);
        args.predicted = args.grad;
        kernels.loss.squared_error(args);
      };
      CheckKernelCase(c);
    }
  }
}

// Losses alone, as evaluation asks for them, are those of training.
TEST(LossTest, WithoutGradientTheLossHasTheSameBits) {
  const std::vector<float> logits = Times(5.0f, TestFloats(1, 8 * 10));
  const std::vector<int32_t> labels = TestLabels(2, 8, 10);
  const auto run = [&](bool with_grad) {
    return RunKernel(AvailableLevels().back(),
                     [&](const Kernels& kernels, TestArrays* arrays) {
                       SoftmaxCrossEntropyArgs args;
                       args.rows = 8;
                       args.classes = 10;
                       args.logits = arrays->In(logits);
                       args.labels = labels.data();
                       args.loss = arrays->Out(8);
                       args.grad = with_grad ? arrays->Workspace(80) : nullptr;
                       kernels.loss.softmax_cross_entropy(args);
                     });
  };
  ExpectSameBits(run(false), run(true));
}

TEST(LossTest, ReferenceGradientsMatchFiniteDifferences) {
  const std::vector<int32_t> labels = {2, 0};
  const std::vector<int32_t> binary = {1, 0, 0, 1, 1, 0};
  const std::vector<double> target = ToDouble(TestFloats(2, 6));
  std::vector<double> grad(6);
  const auto total = [&](int which, const std::vector<double>& z) {
    std::vector<double> loss(6, 0.0);
    switch (which) {
      case 0:
        reference::SoftmaxCrossEntropy<double>(2, 3, z.data(), labels.data(),
                                               1.0, loss.data(), grad.data());
        break;
      case 1:
        reference::Logistic<double>(6, z.data(), binary.data(), 1.0,
                                    loss.data(), grad.data());
        break;
      default:
        reference::SquaredError<double>(2, 3, z.data(), target.data(), 1.0,
                                        loss.data(), grad.data());
    }
    double sum = 0.0;
    for (double value : loss) {
      sum += value;
    }
    return sum;
  };
  for (int which : {0, 1, 2}) {
    std::vector<double> z = ToDouble(TestFloats(1, 6));
    total(which, z);
    // total() writes another into `grad`.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::vector<double> want = grad;
    for (int i = 0; i < 6; ++i) {
      std::vector<double> above = z;
      std::vector<double> below = z;
      above[i] += 1e-5;
      below[i] -= 1e-5;
      EXPECT_NEAR((total(which, above) - total(which, below)) / 2e-5, want[i],
                  1e-8)
          << "loss " << which << ", element " << i;
    }
  }
}

TEST(LossTest, NanLogitMakesItsRowNanOnly) {
  std::vector<float> logits = TestFloats(1, 3 * 20);
  logits[20 + 13] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int32_t> labels = {0, 1, 2};
  for (IsaLevel level : AvailableLevels()) {
    const std::vector<float> outputs =
        RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
          SoftmaxCrossEntropyArgs args;
          args.rows = 3;
          args.classes = 20;
          args.logits = arrays->In(logits);
          args.labels = labels.data();
          args.loss = arrays->Out(3);
          args.grad = arrays->Out(60);
          kernels.loss.softmax_cross_entropy(args);
        });
    for (int i = 0; i < 63; ++i) {
      const int row = i < 3 ? i : (i - 3) / 20;
      EXPECT_EQ(std::isnan(outputs[i]), row == 1) << i;
    }
  }
}

TEST(LossTest, SumInOrderIsADoubleSum) {
  const std::vector<float> values = TestFloats(1, 1000);
  double want = 0.0;
  for (float value : values) {
    want += value;
  }
  for (IsaLevel level : AvailableLevels()) {
    EXPECT_EQ(KernelsFor(level).loss.sum_in_order(1000, values.data()), want);
  }
}

}  // namespace
}  // namespace selari
