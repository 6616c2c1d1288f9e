// The tables that kernels/cpu fills, once per instruction-set level; for
// kernels.cc and the files of this folder only.

#ifndef SELARI_KERNELS_CPU_CPU_KERNELS_H_
#define SELARI_KERNELS_CPU_CPU_KERNELS_H_

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

#define SELARI_DECLARE_CPU_KERNELS(isa)      \
  namespace selari {                         \
  namespace isa {                            \
  GemmKernels MakeGemmKernels();             \
  Conv2DKernels MakeConv2DKernels();         \
  MaxPool2DKernels MakeMaxPool2DKernels();   \
  BiasKernels MakeBiasKernels();             \
  ReluKernels MakeReluKernels();             \
  DropoutKernels MakeDropoutKernels();       \
  LayerNormKernels MakeLayerNormKernels();   \
  LossKernels MakeLossKernels();             \
  ArgmaxKernels MakeArgmaxKernels();         \
  ElementaryKernels MakeElementaryKernels(); \
  TreeSumKernels MakeTreeSumKernels();       \
  }                                          \
  }

SELARI_DECLARE_CPU_KERNELS(isa_v2)
SELARI_DECLARE_CPU_KERNELS(isa_v3)
SELARI_DECLARE_CPU_KERNELS(isa_v4)

#undef SELARI_DECLARE_CPU_KERNELS

#endif  // SELARI_KERNELS_CPU_CPU_KERNELS_H_
