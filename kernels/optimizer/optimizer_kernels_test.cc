#include "kernels/optimizer/optimizer_kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/isa.h"
#include "gtest/gtest.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"
#include "kernels/optimizer/reference/optimizer_reference.h"

namespace selari {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Around the vector widths (4, 8, 16), the lanes of a sum (16) and past them.
constexpr int kSizes[] = {0,  1,  3,  4,  5,  7,  8,  9,   15,
                          16, 17, 31, 33, 63, 64, 67, 127, 4099};
// Floats around each array that no kernel may touch.
constexpr int kPadding = 19;
constexpr uint32_t kSeed = 20240607;

const GradientTerms kGradientTerms = {0.75f, 0.5f, 0.01f};
const MomentTerms kMomentTerms = {0.9f, 0.1f, 0.99f, 0.01f};
const MomentumTerms kMomentumTerms = {kGradientTerms, 0.1f, 0.9f};
const RmsPropTerms kRmsPropTerms = {kGradientTerms, 0.1f,  0.9f,
                                    0.1f,           1e-8f, 0.5f};
const LambTerms kLambTerms = {kGradientTerms, kMomentTerms, 1e-6f, 5.0f,
                              7.0f,           0.01f,        0.02f};

struct KernelCase {
  std::string name;
  std::function<void(const OptimizerKernels&, const UpdateArrays&)> run;
  std::function<void(ReferenceElement*)> reference;
};

const std::vector<KernelCase>& Cases() {
  static const auto* const kCases = new std::vector<KernelCase>{
      {"sgd",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.sgd({kGradientTerms, 0.1f}, a);
       },
       [](ReferenceElement* e) {
         SgdReference({kGradientTerms, 0.1f}, e);
       }},
      {"heavy_ball",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.heavy_ball(kMomentumTerms, a);
       },
       [](ReferenceElement* e) { HeavyBallReference(kMomentumTerms, e); }},
      {"nesterov",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.nesterov(kMomentumTerms, a);
       },
       [](ReferenceElement* e) { NesterovReference(kMomentumTerms, e); }},
      {"adagrad",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.adagrad({kGradientTerms, 0.1f, 1e-10f}, a);
       },
       [](ReferenceElement* e) {
         AdagradReference({kGradientTerms, 0.1f, 1e-10f}, e);
       }},
      {"rms_prop",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.rms_prop(kRmsPropTerms, a);
       },
       [](ReferenceElement* e) { RmsPropReference(kRmsPropTerms, e); }},
      {"rms_prop_momentum",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.rms_prop_momentum(kRmsPropTerms, a);
       },
       [](ReferenceElement* e) { RmsPropMomentumReference(kRmsPropTerms, e); }},
      {"adam",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.adam({kGradientTerms, kMomentTerms, 1e-8f, 0.1f, 3.0f, 0.01f}, a);
       },
       [](ReferenceElement* e) {
         AdamReference({kGradientTerms, kMomentTerms, 1e-8f, 0.1f, 3.0f, 0.01f},
                       e);
       }},
      {"lamb",
       [](const OptimizerKernels& k, const UpdateArrays& a) {
         k.lamb(kLambTerms, a);
       },
       [](ReferenceElement* e) { LambReference(kLambTerms, e); }},
  };
  return *kCases;
}

// The levels that this processor has, lowest first.
std::vector<IsaLevel> SupportedLevels() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    if (level <= DetectIsaLevel()) {
      levels.push_back(level);
    }
  }
  return levels;
}

// Random arrays of n floats that start `offset` floats past the padding;
// everything around them is NaN.
class TestArrays {
 public:
  TestArrays(int n, int offset) : n_(n), first_(kPadding + offset) {
    std::mt19937 random(kSeed + n);
    std::normal_distribution<float> normal;
    for (std::vector<float>* array : All()) {
      array->assign(n + 2 * kPadding + offset, kNan);
      for (int i = 0; i < n; ++i) {
        (*array)[first_ + i] = normal(random);
      }
    }
    for (int i = 0; i < n; ++i) {  // sums of squares are not negative
      float& square_0 = slots_[0][first_ + i];
      float& square_1 = slots_[1][first_ + i];
      square_0 = std::abs(square_0);
      square_1 = std::abs(square_1);
    }
  }

  UpdateArrays View() { return Part(0, n_); }
  UpdateArrays Part(int begin, int end) {
    UpdateArrays arrays;
    arrays.n = end - begin;
    arrays.weights = weights_.data() + first_ + begin;
    arrays.grad = grad_.data() + first_ + begin;
    for (int slot = 0; slot < kSlotCountMax; ++slot) {
      arrays.slots[slot] = slots_[slot].data() + first_ + begin;
    }
    arrays.next_weights = next_weights_.data() + first_ + begin;
    return arrays;
  }

  ReferenceElement Element(int i) const {
    ReferenceElement element;
    element.weight = weights_[first_ + i];
    element.grad = grad_[first_ + i];
    for (int slot = 0; slot < kSlotCountMax; ++slot) {
      element.slots[slot] = slots_[slot][first_ + i];
    }
    element.next_weight = next_weights_[first_ + i];
    return element;
  }

  bool PaddingIsUntouched() {
    for (const std::vector<float>* array : All()) {
      for (size_t i = 0; i < array->size(); ++i) {
        const bool inside =
            i >= static_cast<size_t>(first_) &&
            i < static_cast<size_t>(first_) + static_cast<size_t>(n_);
        if (!inside && !std::isnan((*array)[i])) {
          return false;
        }
      }
    }
    return true;
  }

  // The bits of everything a kernel writes.
  std::vector<uint32_t> Bits() const {
    std::vector<uint32_t> bits;
    for (const std::vector<float>* array :
         {&next_weights_, &slots_[0], &slots_[1]}) {
      for (int i = 0; i < n_; ++i) {
        uint32_t word;
        std::memcpy(&word, array->data() + first_ + i, sizeof(word));
        bits.push_back(word);
      }
    }
    return bits;
  }

 private:
  std::vector<std::vector<float>*> All() {
    return {&weights_, &grad_, &slots_[0], &slots_[1], &next_weights_};
  }

  const int n_;
  const int first_;
  std::vector<float> weights_;
  std::vector<float> grad_;
  std::vector<float> slots_[kSlotCountMax];
  std::vector<float> next_weights_;
};

class OptimizerKernelsTest : public testing::TestWithParam<KernelCase> {};

// At most a dozen rounded operations on numbers of size 1; Adam and RMSProp
// divide by a root that is not small here.
void ExpectNear(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, 2e-6 * (1 + std::abs(expected))) << what;
}

TEST_P(OptimizerKernelsTest, AgreesWithTheReference) {
  for (const IsaLevel level : SupportedLevels()) {
    for (const int n : kSizes) {
      TestArrays arrays(n, 0);
      const TestArrays before = arrays;
      GetParam().run(ChooseOptimizerKernels(level), arrays.View());
      for (int i = 0; i < n; ++i) {
        ReferenceElement expected = before.Element(i);
        GetParam().reference(&expected);
        const ReferenceElement actual = arrays.Element(i);
        ExpectNear(actual.next_weight, expected.next_weight, "weight");
        ExpectNear(actual.slots[0], expected.slots[0], "slot 0");
        ExpectNear(actual.slots[1], expected.slots[1], "slot 1");
      }
      EXPECT_TRUE(arrays.PaddingIsUntouched()) << "n " << n;
    }
  }
}

TEST_P(OptimizerKernelsTest, BitsDependOnNeitherLevelNorAlignment) {
  for (const int n : kSizes) {
    TestArrays expected(n, 0);
    GetParam().run(ChooseOptimizerKernels(IsaLevel::kV2), expected.View());
    for (const IsaLevel level : SupportedLevels()) {
      for (const int offset : {0, 1, 2, 3, 7, 15}) {
        TestArrays arrays(n, offset);
        GetParam().run(ChooseOptimizerKernels(level), arrays.View());
        EXPECT_EQ(arrays.Bits(), expected.Bits())
            << IsaLevelName(level) << ", n " << n << ", offset " << offset;
      }
    }
  }
}

TEST_P(OptimizerKernelsTest, BitsDoNotDependOnHowATensorIsCut) {
  constexpr int kSize = 4099;
  TestArrays expected(kSize, 0);
  GetParam().run(ChooseOptimizerKernels(IsaLevel::kV2), expected.View());
  for (const IsaLevel level : SupportedLevels()) {
    TestArrays arrays(kSize, 0);
    int begin = 0;
    for (const int end : {1, 1, 8, 25, 1000, 1016, 4098, kSize}) {
      GetParam().run(ChooseOptimizerKernels(level), arrays.Part(begin, end));
      begin = end;
    }
    EXPECT_EQ(arrays.Bits(), expected.Bits()) << IsaLevelName(level);
  }
}

TEST_P(OptimizerKernelsTest, NanStaysInItsOwnElement) {
  constexpr int kSize = 37;
  for (const IsaLevel level : SupportedLevels()) {
    TestArrays arrays(kSize, 0);
    const_cast<float*>(arrays.View().grad)[20] = kNan;
    GetParam().run(ChooseOptimizerKernels(level), arrays.View());
    for (int i = 0; i < kSize; ++i) {
      EXPECT_EQ(std::isnan(arrays.Element(i).next_weight), i == 20) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerKernelsTest, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<KernelCase>& info) {
                           return info.param.name;
                         });

TEST(OptimizerSumsTest, SumOfSquaresAgreesWithTheReference) {
  for (const int n : kSizes) {
    TestArrays arrays(n, 0);
    double expected = 0;
    for (int i = 0; i < n; ++i) {
      const double g = ClippedReference(arrays.Element(i).grad, 0.75);
      expected += g * g;
    }
    const double first = ChooseOptimizerKernels(IsaLevel::kV2)
                             .sum_of_squares(0.75f, arrays.View().grad, n);
    EXPECT_NEAR(first, expected, 1e-13 * expected) << "n " << n;
    for (const IsaLevel level : SupportedLevels()) {
      TestArrays moved(n, static_cast<int>(level));
      EXPECT_EQ(ChooseOptimizerKernels(level).sum_of_squares(
                    0.75f, moved.View().grad, n),
                first)
          << IsaLevelName(level) << ", n " << n;
    }
  }
}

TEST(OptimizerSumsTest, LambSumsAgreeWithTheReferenceAndWriteNothing) {
  for (const int n : kSizes) {
    double expected[2] = {0, 0};
    double first[2] = {-1, -1};
    for (const IsaLevel level : SupportedLevels()) {
      TestArrays arrays(n, static_cast<int>(level));
      const std::vector<uint32_t> before = arrays.Bits();
      double sums[2];
      ChooseOptimizerKernels(level).lamb_sums(kLambTerms, arrays.View(), sums);
      EXPECT_EQ(arrays.Bits(), before);
      if (level == IsaLevel::kV2) {
        for (int i = 0; i < n; ++i) {
          const ReferenceElement e = arrays.Element(i);
          const double u = LambDirectionReference(kLambTerms, e);
          expected[0] += e.weight * e.weight;
          expected[1] += u * u;
        }
        first[0] = sums[0];
        first[1] = sums[1];
      }
      EXPECT_NEAR(sums[0], expected[0], 1e-13 * expected[0]);
      EXPECT_NEAR(sums[1], expected[1], 1e-6 * expected[1]);
      EXPECT_EQ(sums[0], first[0]) << IsaLevelName(level) << ", n " << n;
      EXPECT_EQ(sums[1], first[1]) << IsaLevelName(level) << ", n " << n;
    }
  }
}

TEST(OptimizerSumsTest, ClipAndScaleIsExactAndStaysInside) {
  for (const int n : kSizes) {
    for (const IsaLevel level : SupportedLevels()) {
      TestArrays arrays(n, static_cast<int>(level));
      const TestArrays before = arrays;
      ChooseOptimizerKernels(level).clip_and_scale(
          0.75f, 0.25f, const_cast<float*>(arrays.View().grad), n);
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(arrays.Element(i).grad,
                  ClippedReference(before.Element(i).grad, 0.75) * 0.25);
      }
      EXPECT_TRUE(arrays.PaddingIsUntouched());
    }
  }
}

TEST(OptimizerSumsTest, AllFiniteFindsOneBadValueAnywhere) {
  for (const IsaLevel level : SupportedLevels()) {
    const OptimizerKernels& kernels = ChooseOptimizerKernels(level);
    for (const int n : {0, 1, 16, 67}) {
      std::vector<float> values(n + 1, -std::numeric_limits<float>::max());
      values[n] = kNan;  // past the end: must not be read
      EXPECT_TRUE(kernels.all_finite(values.data(), n));
      for (int i = 0; i < n; ++i) {
        for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
          const float good = values[i];
          values[i] = bad;
          EXPECT_FALSE(kernels.all_finite(values.data(), n)) << i << " " << bad;
          values[i] = good;
        }
      }
    }
  }
}

}  // namespace
}  // namespace selari
