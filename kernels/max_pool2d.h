// Maximum over windows, fp32, NHWC; windows do not reach past the edge.
//
//   input    (batch, in_height, in_width, channels)
//   output   (batch, out_height, out_width, channels)
//   argmax   (batch, out_height, out_width, channels): where each maximum
//            came from, as an index into its sample of the input
//
// Ties: the first in row-major order. NaN: a window with a NaN gives NaN, and
// argmax is its last one. A selection, so bit-equal at every level.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_MAX_POOL2D_H_
#define SELARI_KERNELS_MAX_POOL2D_H_

#include <cstdint>

namespace selari {

struct MaxPool2DShape {
  int64_t batch = 0;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t channels = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t window = 0;  // height and width
  int64_t stride = 0;
};

// Output = floor((input − window)/stride) + 1, or 0 if the window does not fit.
// REQUIRES: every argument > 0 and a sample of at most 2^31 − 1 elements.
MaxPool2DShape MakeMaxPool2DShape(int64_t batch, int64_t in_height,
                                  int64_t in_width, int64_t channels,
                                  int64_t window, int64_t stride);

struct MaxPool2DKernels {
  // `output` and `argmax` must not overlap `input`.
  void (*forward)(const MaxPool2DShape& shape, const float* input,
                  float* output, int32_t* argmax);
  // input_grad is zeroed, then each output_grad is added where argmax says, in
  // row-major order of the output. Must not overlap.
  void (*backward)(const MaxPool2DShape& shape, const float* output_grad,
                   const int32_t* argmax, float* input_grad);
};

}  // namespace selari

#endif  // SELARI_KERNELS_MAX_POOL2D_H_
