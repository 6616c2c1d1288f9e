// All operations of one back end, as tables of plain functions. Chosen once, at
// start, by the job's instruction-set level; everything above calls through it.
//
//   const Kernels& kernels = KernelsFor(DetectIsaLevel());
//   GemmArgs args;
//   ...
//   kernels.gemm.ab(args);
//
// Each operation's contract (formula, shapes, aliasing, NaN, determinism) is in
// its own header. Common to all: host memory, fp32, any alignment (64 bytes is
// fastest), nothing allocated, one thread, thread-safe, and results that depend
// on the arguments' values only.

#ifndef SELARI_KERNELS_KERNELS_H_
#define SELARI_KERNELS_KERNELS_H_

#include "common/isa.h"
#include "kernels/argmax.h"
#include "kernels/bias.h"
#include "kernels/conv2d.h"
#include "kernels/dropout.h"
#include "kernels/elementary.h"
#include "kernels/gemm.h"
#include "kernels/layer_norm.h"
#include "kernels/loss.h"
#include "kernels/max_pool2d.h"
#include "kernels/relu.h"
#include "kernels/tree_sum.h"

namespace selari {

struct Kernels {
  IsaLevel level;
  GemmKernels gemm;
  Conv2DKernels conv2d;
  MaxPool2DKernels max_pool2d;
  BiasKernels bias;
  ReluKernels relu;
  DropoutKernels dropout;
  LayerNormKernels layer_norm;
  LossKernels loss;
  ArgmaxKernels argmax;
  ElementaryKernels elementary;
  TreeSumKernels tree_sum;
};

// The kernels compiled for `level`. Lives for the whole process.
// REQUIRES: level ≤ DetectIsaLevel(), checked: a processor that lacks an
// instruction would otherwise be killed in the middle of a step.
const Kernels& KernelsFor(IsaLevel level);

}  // namespace selari

#endif  // SELARI_KERNELS_KERNELS_H_
