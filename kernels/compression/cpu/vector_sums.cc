#include <cstdint>

#include "kernels/compression/cpu/compression_table.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 16;

}  // namespace

double Dot(std::int64_t n, const float* a, const float* b) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  for (int lane = 0; i + lane < n; ++lane) {
    lanes[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

void AddScaled(std::int64_t n, float factor, const UnalignedFloat* __restrict x,
               float* __restrict y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] += factor * x[i];
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
