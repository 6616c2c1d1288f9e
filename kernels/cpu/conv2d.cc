#include "kernels/conv2d.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/micro_kernel.h"
#include "kernels/cpu/vec.h"

// All three operations are products whose rows of A are windows of an image, so
// they run on the tiles of micro_kernel.h with pointers into a padded copy of
// one sample: no im2col, and a workspace of one image.

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// An image with a border of zeros, one sample.
struct Padded {
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t RowFloats() const { return width * channels; }
  int64_t Floats() const { return height * RowFloats(); }
};

int64_t Max(int64_t a, int64_t b) { return a > b ? a : b; }

// The input with all that any window touches.
Padded PaddedInput(const Conv2DShape& shape) {
  const int64_t reach_y = (shape.out_height - 1) * shape.stride + shape.kernel;
  const int64_t reach_x = (shape.out_width - 1) * shape.stride + shape.kernel;
  return {Max(reach_y, shape.pad_top + shape.in_height),
          Max(reach_x, shape.pad_left + shape.in_width), shape.in_channels};
}

// The output gradient with stride − 1 zeros between its pixels and kernel − 1
// around: the input gradient is its convolution with the flipped kernel.
Padded SpreadOutput(const Conv2DShape& shape) {
  return {shape.in_height + shape.pad_top + shape.kernel - 1,
          shape.in_width + shape.pad_left + shape.kernel - 1,
          shape.out_channels};
}

int64_t WorkspaceFloats(const Conv2DShape& shape) {
  const int64_t depth = shape.kernel * shape.kernel;
  const int64_t pixels = shape.out_height * shape.out_width;
  const int64_t image = RoundUp(
      Max(PaddedInput(shape).Floats(), SpreadOutput(shape).Floats()), 16);
  const int64_t flipped =
      depth * shape.out_channels * RoundUp(shape.in_channels, kVecFloats);
  const int64_t edge = Max(depth * shape.in_channels, pixels) * kVecFloats;
  return image + Max(flipped, edge);
}

void Zero(int64_t n, float* p) { __builtin_memset(p, 0, n * sizeof(float)); }

// Copies one sample into the middle of `out`, whose border is already 0: pixel
// (y, x) to (top + y·stride, left + x·stride).
void CopyInto(const Padded& padded, const float* __restrict image,
              int64_t height, int64_t width, int64_t top, int64_t left,
              int64_t stride, float* __restrict out) {
  const int64_t channels = padded.channels;
  for (int64_t y = 0; y < height; ++y) {
    const float* row = image + y * width * channels;
    float* out_row =
        out + ((top + y * stride) * padded.width + left) * channels;
    if (stride == 1) {
      __builtin_memcpy(out_row, row, width * channels * sizeof(float));
      continue;
    }
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        out_row[x * stride * channels + c] = row[x * channels + c];
      }
    }
  }
}

// The sample as it is when it has no border, or its copy in `workspace`.
const float* PadSample(const Conv2DShape& shape, const Padded& padded,
                       const float* sample, float* workspace) {
  if (padded.height == shape.in_height && padded.width == shape.in_width) {
    return sample;
  }
  CopyInto(padded, sample, shape.in_height, shape.in_width, shape.pad_top,
           shape.pad_left, 1, workspace);
  return workspace;
}

// Columns [col, cols) of a (rows, cols) matrix, each row padded with zeros to
// one vector: the part that does not fill a vector, made readable as one.
void PackEdge(int64_t rows, int64_t cols, int64_t col,
              const float* __restrict matrix, float* __restrict packed) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < kVecFloats; ++j) {
      packed[r * kVecFloats + j] =
          col + j < cols ? matrix[r * cols + col + j] : 0.0f;
    }
  }
}

int64_t FirstEdgeCol(int64_t cols) { return cols - cols % kVecFloats; }

// Where rows of A start: window (y, x) at first + (y·width +
// x)·channels·stride.
struct Windows {
  const float* first;
  int64_t width;        // windows in a row of the image
  int64_t row_floats;   // from one row of windows to the next
  int64_t step_floats;  // from one window to the next
};

// C(count windows, cols) for one panel of B.
void RunWindows(const Windows& windows, int64_t count, int64_t cols,
                const GemmEpilogue& epilogue, Tile tile) {
  float* const c = tile.c;
  int64_t x = 0;
  const float* row = windows.first;
  for (int64_t p = 0; p < count; p += kTileRows) {
    const int64_t rows = count - p < kTileRows ? count - p : kTileRows;
    for (int64_t i = 0; i < rows; ++i) {
      tile.a_rows[i] = row + x * windows.step_floats;
      if (++x == windows.width) {
        x = 0;
        row += windows.row_floats;
      }
    }
    tile.c = c + p * tile.c_stride;
    tile.has_epilogue = true;
    tile.epilogue = epilogue;
    if (epilogue.relu_output != nullptr) {
      tile.epilogue.relu_output = epilogue.relu_output + p * tile.c_stride;
    }
    RunAnyTile(rows, cols, tile);
  }
}

void Forward(const Conv2DForwardArgs& args) {
  const Conv2DShape& shape = args.shape;
  const Padded padded = PaddedInput(shape);
  const int64_t pixels = shape.out_height * shape.out_width;
  const int64_t in_size = shape.in_height * shape.in_width * shape.in_channels;
  const int64_t depth = shape.kernel * shape.kernel * shape.in_channels;
  const int64_t edge_col = FirstEdgeCol(shape.out_channels);
  float* const edge = args.workspace + RoundUp(padded.Floats(), 16);
  if (pixels == 0) {
    return;
  }
  if (edge_col != shape.out_channels) {
    PackEdge(depth, shape.out_channels, edge_col, args.weight, edge);
  }
  Zero(padded.Floats(), args.workspace);
  Tile tile;
  tile.depth.segments = shape.kernel;
  tile.depth.length = shape.kernel * shape.in_channels;
  tile.depth.segment_stride = padded.RowFloats();
  tile.c_stride = shape.out_channels;
  tile.accumulate = false;
  for (int64_t n = 0; n < shape.batch; ++n) {
    const Windows windows = {
        PadSample(shape, padded, args.input + n * in_size, args.workspace),
        shape.out_width, shape.stride * padded.RowFloats(),
        shape.stride * shape.in_channels};
    for (int64_t col = 0; col < shape.out_channels;) {
      const int64_t cols = PanelCols(shape.out_channels - col);
      const bool is_edge = col == edge_col;
      tile.b = is_edge ? edge : args.weight + col;
      tile.b_stride = is_edge ? kVecFloats : shape.out_channels;
      tile.c = args.output + n * pixels * shape.out_channels + col;
      GemmEpilogue epilogue = args.epilogue;
      if (epilogue.bias != nullptr) {
        epilogue.bias += col;
      }
      epilogue.relu_output = nullptr;
      RunWindows(windows, pixels, cols, epilogue, tile);
      col += cols;
    }
  }
}

// flipped[(i, j, o), c] = weight[kernel−1−i, kernel−1−j, c, o], rows padded
// with zeros to a whole number of vectors.
void FlipWeight(const Conv2DShape& shape, int64_t padded_channels,
                const float* __restrict weight, float* __restrict flipped) {
  const int64_t taps = shape.kernel * shape.kernel;
  for (int64_t t = 0; t < taps; ++t) {
    const float* from =
        weight + (taps - 1 - t) * shape.in_channels * shape.out_channels;
    for (int64_t o = 0; o < shape.out_channels; ++o) {
      float* to = flipped + (t * shape.out_channels + o) * padded_channels;
      for (int64_t c = 0; c < padded_channels; ++c) {
        to[c] = c < shape.in_channels ? from[c * shape.out_channels + o] : 0.0f;
      }
    }
  }
}

void InputGrad(const Conv2DInputGradArgs& args) {
  const Conv2DShape& shape = args.shape;
  const Padded spread = SpreadOutput(shape);
  const int64_t pixels = shape.in_height * shape.in_width;
  const int64_t out_size =
      shape.out_height * shape.out_width * shape.out_channels;
  const int64_t padded_channels = RoundUp(shape.in_channels, kVecFloats);
  float* const flipped = args.workspace + RoundUp(spread.Floats(), 16);
  FlipWeight(shape, padded_channels, args.weight, flipped);
  Zero(spread.Floats(), args.workspace);
  Tile tile;
  tile.depth.segments = shape.kernel;
  tile.depth.length = shape.kernel * shape.out_channels;
  tile.depth.segment_stride = spread.RowFloats();
  tile.b_stride = padded_channels;
  tile.c_stride = shape.in_channels;
  tile.accumulate = false;
  const Windows windows = {
      args.workspace +
          (shape.pad_top * spread.width + shape.pad_left) * spread.channels,
      shape.in_width, spread.RowFloats(), spread.channels};
  for (int64_t n = 0; n < shape.batch; ++n) {
    CopyInto(spread, args.output_grad + n * out_size, shape.out_height,
             shape.out_width, shape.kernel - 1, shape.kernel - 1, shape.stride,
             args.workspace);
    for (int64_t col = 0; col < shape.in_channels;) {
      const int64_t cols = PanelCols(shape.in_channels - col);
      const int64_t at = n * pixels * shape.in_channels + col;
      tile.b = flipped + col;
      tile.c = args.input_grad + at;
      GemmEpilogue epilogue;
      if (args.relu_output != nullptr) {
        epilogue.relu_output = args.relu_output + at;
      }
      RunWindows(windows, pixels, cols, epilogue, tile);
      col += cols;
    }
  }
}

// Adds one sample's part of the weight gradient: row (i, j, c) of A is the
// input seen through that tap of the kernel, its depth the output pixels.
void AddSampleWeightGrad(const Conv2DShape& shape, const float* sample,
                         int64_t row_floats, const float* edge,
                         float* weight_grad, Tile tile) {
  const int64_t run = shape.kernel * shape.in_channels;
  const int64_t taps = shape.kernel * run;
  const float* const b = tile.b;
  for (int64_t col = 0; col < shape.out_channels;) {
    const int64_t cols = PanelCols(shape.out_channels - col);
    const bool is_edge = col == FirstEdgeCol(shape.out_channels);
    tile.b = is_edge ? edge : b + col;
    tile.b_stride = is_edge ? kVecFloats : shape.out_channels;
    for (int64_t q = 0; q < taps; q += kTileRows) {
      const int64_t rows = taps - q < kTileRows ? taps - q : kTileRows;
      for (int64_t i = 0; i < rows; ++i) {
        tile.a_rows[i] = sample + (q + i) / run * row_floats + (q + i) % run;
      }
      tile.c = weight_grad + q * shape.out_channels + col;
      RunAnyTile(rows, cols, tile);
    }
    col += cols;
  }
}

void WeightGrad(const Conv2DWeightGradArgs& args) {
  const Conv2DShape& shape = args.shape;
  const Padded padded = PaddedInput(shape);
  const int64_t pixels = shape.out_height * shape.out_width;
  const int64_t in_size = shape.in_height * shape.in_width * shape.in_channels;
  const int64_t edge_col = FirstEdgeCol(shape.out_channels);
  float* const edge = args.workspace + RoundUp(padded.Floats(), 16);
  if (shape.batch == 0 || pixels == 0) {
    Zero(shape.kernel * shape.kernel * shape.in_channels * shape.out_channels,
         args.weight_grad);
    return;
  }
  Zero(padded.Floats(), args.workspace);
  Tile tile;
  tile.depth.segments = shape.out_height;
  tile.depth.length = shape.out_width;
  tile.depth.segment_stride = shape.stride * padded.RowFloats();
  tile.depth.step = shape.stride * shape.in_channels;
  tile.c_stride = shape.out_channels;
  for (int64_t n = 0; n < shape.batch; ++n) {
    const float* grad = args.output_grad + n * pixels * shape.out_channels;
    if (edge_col != shape.out_channels) {
      PackEdge(pixels, shape.out_channels, edge_col, grad, edge);
    }
    tile.b = grad;
    tile.accumulate = n > 0;
    AddSampleWeightGrad(
        shape,
        PadSample(shape, padded, args.input + n * in_size, args.workspace),
        padded.RowFloats(), edge, args.weight_grad, tile);
  }
}

}  // namespace

Conv2DKernels MakeConv2DKernels() {
  return {&WorkspaceFloats, &Forward, &InputGrad, &WeightGrad};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
