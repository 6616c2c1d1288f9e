// What the tests of all operations share: arrays that notice a stray read or
// write, and the check that one case gives
//   * the reference's values within the stated tolerance, at each level,
//   * the same bits wherever the arrays start relative to a cache line,
//   * the same bits at each level (or, for products, at each fused level).
//
//   KernelCase c;
//   c.name = "relu n=17";
//   c.run = [&](const Kernels& kernels, TestArrays* arrays) {
//     kernels.relu.forward(17, arrays->In(x), arrays->Out(17));
//   };
//   c.want = reference in double;
//   CheckKernelCase(c);

#ifndef SELARI_KERNELS_KERNEL_CASE_H_
#define SELARI_KERNELS_KERNEL_CASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace selari {

// W = 16 is the widest vector: nothing, one, odd, around W, several and a rest.
inline std::vector<int64_t> TestSizes() {
  return {0, 1, 3, 15, 16, 17, 67, 1000};
}
inline std::vector<int64_t> TestDims() { return {1, 4, 8, 64, 385}; }

// The levels that this processor can run.
std::vector<IsaLevel> AvailableLevels();

// n reproducible numbers, uniform in [−1, 1); `which` names the sequence.
std::vector<float> TestFloats(uint64_t which, int64_t n);
// n reproducible integers in [0, bound).
std::vector<int32_t> TestLabels(uint64_t which, int64_t n, int32_t bound);
std::vector<double> ToDouble(const std::vector<float>& values);

// Arrays that start `offset` floats after a 64-byte boundary, with NaN before
// and after: a read outside poisons the result, a write is found by
// OutputsAndCheckGuards.
class TestArrays {
 public:
  explicit TestArrays(int offset) : offset_(offset) {}

  float* In(const std::vector<float>& values);
  // Filled with NaN, which the operation must overwrite.
  float* Out(int64_t n);
  // An array that is read and written.
  float* InOut(const std::vector<float>& values);
  float* Workspace(int64_t n);

  // All Out and InOut arrays one after the other, in the order made.
  std::vector<float> OutputsAndCheckGuards() const;

 private:
  struct Array {
    std::unique_ptr<float[]> storage;
    float* begin;
    int64_t size;
    bool is_output;
  };
  float* Add(int64_t n, bool is_output);

  const int offset_;
  std::vector<Array> arrays_;
};

struct KernelCase {
  std::string name;
  std::function<void(const Kernels&, TestArrays*)> run;
  // What all outputs must be: |got − want| ≤ absolute + relative·|want|.
  std::vector<double> want;
  double absolute = 0.0;
  double relative = 0.0;
  // Uses fused multiply-add where there is one, so v2 rounds differently.
  bool is_fused = false;
};

void CheckKernelCase(const KernelCase& kernel_case);

// The outputs of one run, with the arrays on a 64-byte boundary.
std::vector<float> RunKernel(
    IsaLevel level,
    const std::function<void(const Kernels&, TestArrays*)>& run);

// Equal as bits, so that NaN equals NaN and 0 differs from −0. Prints the first
// ten differences.
void ExpectSameBits(const std::vector<float>& got,
                    const std::vector<float>& want);

}  // namespace selari

#endif  // SELARI_KERNELS_KERNEL_CASE_H_
