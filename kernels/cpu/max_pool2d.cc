#include "kernels/max_pool2d.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// Takes one pixel of the window into the running maximum of all channels.
void TakePixel(int64_t channels, const float* __restrict pixel, int32_t index,
               float* __restrict best, int32_t* __restrict best_index) {
  for (int64_t c = 0; c < channels; ++c) {
    const float x = pixel[c];
    const bool take = (x > best[c]) | (x != x);
    best[c] = take ? x : best[c];
    best_index[c] = take ? index + static_cast<int32_t>(c) : best_index[c];
  }
}

// One output pixel; (y, x) is the window's first input pixel.
void PoolWindow(const MaxPool2DShape& shape, const float* sample, int64_t y,
                int64_t x, float* best, int32_t* best_index) {
  const int64_t channels = shape.channels;
  const int64_t first = (y * shape.in_width + x) * channels;
  for (int64_t c = 0; c < channels; ++c) {
    best[c] = sample[first + c];
    best_index[c] = static_cast<int32_t>(first + c);
  }
  for (int64_t i = 0; i < shape.window; ++i) {
    for (int64_t j = 0; j < shape.window; ++j) {
      const int64_t at = ((y + i) * shape.in_width + x + j) * channels;
      TakePixel(channels, sample + at, static_cast<int32_t>(at), best,
                best_index);
    }
  }
}

void Forward(const MaxPool2DShape& shape, const float* input, float* output,
             int32_t* argmax) {
  const int64_t in_size = shape.in_height * shape.in_width * shape.channels;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t y = 0; y < shape.out_height; ++y) {
      for (int64_t x = 0; x < shape.out_width; ++x) {
        PoolWindow(shape, input + n * in_size, y * shape.stride,
                   x * shape.stride, output, argmax);
        output += shape.channels;
        argmax += shape.channels;
      }
    }
  }
}

void Backward(const MaxPool2DShape& shape, const float* output_grad,
              const int32_t* argmax, float* input_grad) {
  const int64_t in_size = shape.in_height * shape.in_width * shape.channels;
  const int64_t out_size = shape.out_height * shape.out_width * shape.channels;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t i = 0; i < in_size; ++i) {
      input_grad[i] = 0.0f;
    }
    for (int64_t i = 0; i < out_size; ++i) {
      input_grad[argmax[i]] += output_grad[i];
    }
    input_grad += in_size;
    output_grad += out_size;
    argmax += out_size;
  }
}

}  // namespace

MaxPool2DKernels MakeMaxPool2DKernels() { return {&Forward, &Backward}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
