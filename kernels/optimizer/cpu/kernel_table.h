// The table of each instruction-set level, for the run-time choice.

#ifndef SELARI_KERNELS_OPTIMIZER_CPU_KERNEL_TABLE_H_
#define SELARI_KERNELS_OPTIMIZER_CPU_KERNEL_TABLE_H_

#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {
namespace isa_v2 {
extern const OptimizerKernels kOptimizerKernels;
}  // namespace isa_v2
namespace isa_v3 {
extern const OptimizerKernels kOptimizerKernels;
}  // namespace isa_v3
namespace isa_v4 {
extern const OptimizerKernels kOptimizerKernels;
}  // namespace isa_v4
}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_CPU_KERNEL_TABLE_H_
