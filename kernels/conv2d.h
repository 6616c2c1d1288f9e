// Two-dimensional convolution (cross-correlation), fp32, NHWC.
//
//   forward   output[n,y,x,o] = Σ input[n, y·stride + i − pad_top,
//                                         x·stride + j − pad_left, c]
//                                 · weight[i,j,c,o]  + bias[o]
// over i, j in [0, kernel) and c; an input outside the image is 0.
//
//   input    (batch, in_height, in_width, in_channels)
//   weight   (kernel, kernel, in_channels, out_channels)
//   output   (batch, out_height, out_width, out_channels)
//
// Determinism: as gemm.h. Every sum is one chain, in the order of (i, j, c) for
// the output, of (n, y, x) for the weight gradient, of (i, j, o) of the
// flipped kernel for the input gradient; padding enters the chain as 0.
// So each sample's output and input gradient depend on that sample only, bit
// for bit. v3 and v4 agree; alignment does not matter.
//
// NaN and infinity spread as IEEE says; a NaN weight also reaches outputs at
// the border, because the padding is multiplied.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_CONV2D_H_
#define SELARI_KERNELS_CONV2D_H_

#include <cstdint>

#include "kernels/gemm.h"

namespace selari {

struct Conv2DShape {
  int64_t batch = 0;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t in_channels = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t out_channels = 0;
  int64_t kernel = 0;  // height and width of the window
  int64_t stride = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
};

// Without padding, output = floor((input − kernel)/stride) + 1, or 0 if the
// kernel does not fit. With "same" padding, output = ceil(input/stride) and the
// odd one of the padding rows or columns comes after the image.
// REQUIRES: every argument > 0.
Conv2DShape MakeConv2DShape(int64_t batch, int64_t in_height, int64_t in_width,
                            int64_t in_channels, int64_t out_channels,
                            int64_t kernel, int64_t stride, bool same_padding);

struct Conv2DForwardArgs {
  Conv2DShape shape;
  const float* input = nullptr;
  const float* weight = nullptr;
  float* output = nullptr;  // must not overlap an input
  // bias (out_channels) or null, relu; relu_output is not used.
  GemmEpilogue epilogue;
  float* workspace = nullptr;  // workspace_floats(shape)
};

struct Conv2DInputGradArgs {
  Conv2DShape shape;
  const float* output_grad = nullptr;
  const float* weight = nullptr;
  float* input_grad = nullptr;  // overwritten; must not overlap an input
  // (shape of input) or null: the backward pass of a ReLU whose output was
  // this convolution's input: input_grad ← mask ≤ 0 ? 0 : input_grad.
  const float* relu_output = nullptr;
  float* workspace = nullptr;  // workspace_floats(shape)
};

// The bias gradient is bias_grad of bias.h over (batch·out_height·out_width,
// out_channels).
struct Conv2DWeightGradArgs {
  Conv2DShape shape;
  const float* input = nullptr;
  const float* output_grad = nullptr;
  float* weight_grad = nullptr;  // overwritten; must not overlap an input
  float* workspace = nullptr;    // workspace_floats(shape)
};

struct Conv2DKernels {
  // Enough for any of the operations below; does not grow with batch.
  int64_t (*workspace_floats)(const Conv2DShape& shape);
  void (*forward)(const Conv2DForwardArgs& args);
  void (*input_grad)(const Conv2DInputGradArgs& args);
  void (*weight_grad)(const Conv2DWeightGradArgs& args);
};

}  // namespace selari

#endif  // SELARI_KERNELS_CONV2D_H_
