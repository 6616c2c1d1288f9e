#include "kernels/conv2d.h"

#include <algorithm>

#include "common/check.h"

namespace selari {

Conv2DShape MakeConv2DShape(int64_t batch, int64_t in_height, int64_t in_width,
                            int64_t in_channels, int64_t out_channels,
                            int64_t kernel, int64_t stride, bool same_padding) {
  SELARI_CHECK(batch > 0 && in_height > 0 && in_width > 0 && in_channels > 0);
  SELARI_CHECK(out_channels > 0 && kernel > 0 && stride > 0);
  Conv2DShape shape;
  shape.batch = batch;
  shape.in_height = in_height;
  shape.in_width = in_width;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  shape.kernel = kernel;
  shape.stride = stride;
  if (same_padding) {
    shape.out_height = (in_height + stride - 1) / stride;
    shape.out_width = (in_width + stride - 1) / stride;
    const auto padding_before = [&](int64_t in, int64_t out) {
      return std::max<int64_t>(0, (out - 1) * stride + kernel - in) / 2;
    };
    shape.pad_top = padding_before(in_height, shape.out_height);
    shape.pad_left = padding_before(in_width, shape.out_width);
  } else {
    const auto fit = [&](int64_t in) {
      return in < kernel ? 0 : (in - kernel) / stride + 1;
    };
    shape.out_height = fit(in_height);
    shape.out_width = fit(in_width);
  }
  return shape;
}

}  // namespace selari
