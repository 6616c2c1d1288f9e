#include "kernels/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/random.h"
#include "gtest/gtest.h"

namespace selari {

namespace {

constexpr uint64_t kSeed = 1729;
constexpr int64_t kGuard = 16;  // floats, one cache line
constexpr int kMismatchesMax = 10;

void ExpectClose(const std::vector<float>& got, const KernelCase& want) {
  ASSERT_EQ(got.size(), want.want.size());
  int mismatches = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = want.absolute + want.relative * std::abs(want.want[i]);
    if (std::abs(got[i] - want.want[i]) <= bound) {
      continue;
    }
    ADD_FAILURE() << "element " << i << ": got " << got[i] << ", want "
                  << want.want[i] << " within " << bound;
    if (++mismatches == kMismatchesMax) {
      return;
    }
  }
}

std::vector<float> RunAt(
    IsaLevel level, int offset,
    const std::function<void(const Kernels&, TestArrays*)>& run) {
  TestArrays arrays(offset);
  run(KernelsFor(level), &arrays);
  return arrays.OutputsAndCheckGuards();
}

uint32_t Bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

}  // namespace

std::vector<IsaLevel> AvailableLevels() {
  std::vector<IsaLevel> levels;
  for (IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    if (level <= DetectIsaLevel()) {
      levels.push_back(level);
    }
  }
  return levels;
}

std::vector<float> TestFloats(uint64_t which, int64_t n) {
  std::vector<float> values(n);
  FillUniform(MakeRandomKey(kSeed, RandomStream::kTest, which), 0, -1.0f, 1.0f,
              absl::MakeSpan(values));
  return values;
}

std::vector<int32_t> TestLabels(uint64_t which, int64_t n, int32_t bound) {
  const RandomKey key = MakeRandomKey(kSeed, RandomStream::kTest, which);
  std::vector<int32_t> labels(n);
  for (int64_t i = 0; i < n; ++i) {
    labels[i] =
        static_cast<int32_t>(BoundedFromWord64(RandomWord64(key, i), bound));
  }
  return labels;
}

std::vector<double> ToDouble(const std::vector<float>& values) {
  return std::vector<double>(values.begin(), values.end());
}

float* TestArrays::Add(int64_t n, bool is_output) {
  // One more guard so that the boundary can be found inside the storage.
  const int64_t floats = n + 4 * kGuard;
  std::unique_ptr<float[]> storage(new float[floats]);
  std::fill_n(storage.get(), floats, std::numeric_limits<float>::quiet_NaN());
  const uintptr_t address = reinterpret_cast<uintptr_t>(storage.get());
  const int64_t to_boundary =
      static_cast<int64_t>((64 - address % 64) % 64 / sizeof(float));
  float* begin = storage.get() + to_boundary + kGuard + offset_;
  arrays_.push_back({std::move(storage), begin, n, is_output});
  return begin;
}

float* TestArrays::In(const std::vector<float>& values) {
  float* begin = Add(static_cast<int64_t>(values.size()), false);
  std::copy(values.begin(), values.end(), begin);
  return begin;
}

float* TestArrays::Out(int64_t n) { return Add(n, true); }

float* TestArrays::InOut(const std::vector<float>& values) {
  float* begin = Add(static_cast<int64_t>(values.size()), true);
  std::copy(values.begin(), values.end(), begin);
  return begin;
}

float* TestArrays::Workspace(int64_t n) { return Add(n, false); }

std::vector<float> TestArrays::OutputsAndCheckGuards() const {
  std::vector<float> outputs;
  for (const Array& array : arrays_) {
    for (int64_t i = 1; i <= kGuard; ++i) {
      EXPECT_TRUE(std::isnan(array.begin[-i])) << i << " floats before";
      EXPECT_TRUE(std::isnan(array.begin[array.size + i - 1]))
          << i << " floats after an array of " << array.size;
    }
    if (array.is_output) {
      outputs.insert(outputs.end(), array.begin, array.begin + array.size);
    }
  }
  return outputs;
}

std::vector<float> RunKernel(
    IsaLevel level,
    const std::function<void(const Kernels&, TestArrays*)>& run) {
  return RunAt(level, 0, run);
}

void ExpectSameBits(const std::vector<float>& got,
                    const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  int mismatches = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (Bits(got[i]) == Bits(want[i])) {
      continue;
    }
    ADD_FAILURE() << "element " << i << ": got " << got[i] << ", want exactly "
                  << want[i];
    if (++mismatches == kMismatchesMax) {
      return;
    }
  }
}

void CheckKernelCase(const KernelCase& kernel_case) {
  SCOPED_TRACE(kernel_case.name);
  std::vector<float> first;  // of the levels that must agree
  for (IsaLevel level : AvailableLevels()) {
    SCOPED_TRACE(std::string(IsaLevelName(level)));
    const std::vector<float> aligned = RunAt(level, 0, kernel_case.run);
    ExpectClose(aligned, kernel_case);
    for (int offset = 1; offset < kGuard; ++offset) {
      SCOPED_TRACE("offset " + std::to_string(offset));
      ExpectSameBits(RunAt(level, offset, kernel_case.run), aligned);
    }
    if (kernel_case.is_fused && level == IsaLevel::kV2) {
      continue;
    }
    if (first.empty()) {
      first = aligned;
    }
    ExpectSameBits(aligned, first);
  }
}

}  // namespace selari
