#include <algorithm>

#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

namespace {

// Calls visit(in_pixel, tap, out_pixel) for every input pixel that an output
// pixel sees, and the tap of the kernel through which it does.
template <class Visit>
void ForEachTap(const Conv2DShape& s, const Visit& visit) {
  for (int64_t p = 0; p < s.batch * s.out_height * s.out_width; ++p) {
    const int64_t n = p / (s.out_height * s.out_width);
    const int64_t y = p / s.out_width % s.out_height;
    const int64_t x = p % s.out_width;
    for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
      const int64_t in_y = y * s.stride + tap / s.kernel - s.pad_top;
      const int64_t in_x = x * s.stride + tap % s.kernel - s.pad_left;
      if (in_y >= 0 && in_y < s.in_height && in_x >= 0 && in_x < s.in_width) {
        visit((n * s.in_height + in_y) * s.in_width + in_x, tap, p);
      }
    }
  }
}

// Calls visit(input index, weight index, output index) for every product that
// the convolution sums up.
template <class Visit>
void ForEachProduct(const Conv2DShape& s, const Visit& visit) {
  ForEachTap(s, [&](int64_t in_pixel, int64_t tap, int64_t out_pixel) {
    for (int64_t c = 0; c < s.in_channels; ++c) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        visit(in_pixel * s.in_channels + c,
              (tap * s.in_channels + c) * s.out_channels + o,
              out_pixel * s.out_channels + o);
      }
    }
  });
}

}  // namespace

template <class T>
void Conv2DForward(const Conv2DShape& shape, const T* input, const T* weight,
                   const T* bias, T* output) {
  const int64_t size =
      shape.batch * shape.out_height * shape.out_width * shape.out_channels;
  for (int64_t i = 0; i < size; ++i) {
    output[i] = bias == nullptr ? T{0} : bias[i % shape.out_channels];
  }
  ForEachProduct(shape, [&](int64_t in, int64_t w, int64_t out) {
    output[out] += input[in] * weight[w];
  });
}

template <class T>
void Conv2DInputGrad(const Conv2DShape& shape, const T* output_grad,
                     const T* weight, T* input_grad) {
  const int64_t size =
      shape.batch * shape.in_height * shape.in_width * shape.in_channels;
  std::fill_n(input_grad, size, T{0});
  ForEachProduct(shape, [&](int64_t in, int64_t w, int64_t out) {
    input_grad[in] += output_grad[out] * weight[w];
  });
}

template <class T>
void Conv2DWeightGrad(const Conv2DShape& shape, const T* input,
                      const T* output_grad, T* weight_grad) {
  const int64_t size =
      shape.kernel * shape.kernel * shape.in_channels * shape.out_channels;
  std::fill_n(weight_grad, size, T{0});
  ForEachProduct(shape, [&](int64_t in, int64_t w, int64_t out) {
    weight_grad[w] += input[in] * output_grad[out];
  });
}

template void Conv2DForward(const Conv2DShape&, const float*, const float*,
                            const float*, float*);
template void Conv2DForward(const Conv2DShape&, const double*, const double*,
                            const double*, double*);
template void Conv2DInputGrad(const Conv2DShape&, const float*, const float*,
                              float*);
template void Conv2DInputGrad(const Conv2DShape&, const double*, const double*,
                              double*);
template void Conv2DWeightGrad(const Conv2DShape&, const float*, const float*,
                               float*);
template void Conv2DWeightGrad(const Conv2DShape&, const double*, const double*,
                               double*);

}  // namespace reference
}  // namespace selari
