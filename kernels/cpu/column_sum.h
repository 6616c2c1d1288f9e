// The fixed-order sum of rows that bias.h describes.

#ifndef SELARI_KERNELS_CPU_COLUMN_SUM_H_
#define SELARI_KERNELS_CPU_COLUMN_SUM_H_

#include <cstdint>

namespace selari {
namespace SELARI_ISA_NAMESPACE {

// Sums up to kColsMax columns over the rows given, one after the other: row r
// into lane r mod 4. Several lanes shorten the chain of dependent additions.
class ColumnSum {
 public:
  static constexpr int64_t kColsMax = 256;  // the lanes take 4 KiB

  // REQUIRES: cols ≤ kColsMax.
  explicit ColumnSum(int64_t cols) : cols_(cols) {
    for (auto& lane : lanes_) {
      for (int64_t j = 0; j < cols_; ++j) {
        lane[j] = 0.0f;
      }
    }
  }

  // row (cols)
  void AddRow(const float* __restrict row) {
    float* __restrict lane = lanes_[next_lane_];
    next_lane_ = (next_lane_ + 1) % kLanes;
    for (int64_t j = 0; j < cols_; ++j) {
      lane[j] += row[j];
    }
  }

  // sums (cols)
  void Finish(float* __restrict sums) const {
    for (int64_t j = 0; j < cols_; ++j) {
      sums[j] = (lanes_[0][j] + lanes_[1][j]) + (lanes_[2][j] + lanes_[3][j]);
    }
  }

 private:
  static constexpr int kLanes = 4;

  const int64_t cols_;
  int next_lane_ = 0;
  alignas(64) float lanes_[kLanes][kColsMax];
};

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_CPU_COLUMN_SUM_H_
