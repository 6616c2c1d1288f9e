#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

namespace {

// The index of the largest element of channel c in the window at (y, x).
template <class T>
int64_t ArgmaxOfWindow(const MaxPool2DShape& s, const T* sample, int64_t y,
                       int64_t x, int64_t c) {
  int64_t best = -1;
  for (int64_t i = 0; i < s.window; ++i) {
    for (int64_t j = 0; j < s.window; ++j) {
      const int64_t row = y * s.stride + i;
      const int64_t col = x * s.stride + j;
      const int64_t at = (row * s.in_width + col) * s.channels + c;
      const bool is_nan = std::isnan(sample[at]);
      if (best < 0 || is_nan || sample[at] > sample[best]) {
        best = at;
      }
    }
  }
  return best;
}

}  // namespace

template <class T>
void MaxPool2DForward(const MaxPool2DShape& s, const T* input, T* output,
                      int32_t* argmax) {
  const int64_t out_size = s.out_height * s.out_width * s.channels;
  for (int64_t out = 0; out < s.batch * out_size; ++out) {
    const T* sample =
        input + out / out_size * s.in_height * s.in_width * s.channels;
    const int64_t c = out % s.channels;
    const int64_t x = out / s.channels % s.out_width;
    const int64_t y = out / s.channels / s.out_width % s.out_height;
    const int64_t best = ArgmaxOfWindow(s, sample, y, x, c);
    output[out] = sample[best];
    argmax[out] = static_cast<int32_t>(best);
  }
}

template <class T>
void MaxPool2DBackward(const MaxPool2DShape& s, const T* output_grad,
                       const int32_t* argmax, T* input_grad) {
  const int64_t in_size = s.in_height * s.in_width * s.channels;
  const int64_t out_size = s.out_height * s.out_width * s.channels;
  std::fill_n(input_grad, s.batch * in_size, T{0});
  for (int64_t i = 0; i < s.batch * out_size; ++i) {
    input_grad[i / out_size * in_size + argmax[i]] += output_grad[i];
  }
}

template void MaxPool2DForward(const MaxPool2DShape&, const float*, float*,
                               int32_t*);
template void MaxPool2DForward(const MaxPool2DShape&, const double*, double*,
                               int32_t*);
template void MaxPool2DBackward(const MaxPool2DShape&, const float*,
                                const int32_t*, float*);
template void MaxPool2DBackward(const MaxPool2DShape&, const double*,
                                const int32_t*, double*);

}  // namespace reference
}  // namespace selari
