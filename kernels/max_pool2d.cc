#include "kernels/max_pool2d.h"

#include "common/check.h"

namespace selari {

MaxPool2DShape MakeMaxPool2DShape(int64_t batch, int64_t in_height,
                                  int64_t in_width, int64_t channels,
                                  int64_t window, int64_t stride) {
  SELARI_CHECK(batch > 0 && in_height > 0 && in_width > 0 && channels > 0);
  SELARI_CHECK(window > 0 && stride > 0);
  // argmax is an int32.
  SELARI_CHECK(in_height <= 0x7fffffff / in_width / channels);
  const auto fit = [&](int64_t in) {
    return in < window ? 0 : (in - window) / stride + 1;
  };
  MaxPool2DShape shape;
  shape.batch = batch;
  shape.in_height = in_height;
  shape.in_width = in_width;
  shape.channels = channels;
  shape.out_height = fit(in_height);
  shape.out_width = fit(in_width);
  shape.window = window;
  shape.stride = stride;
  return shape;
}

}  // namespace selari
