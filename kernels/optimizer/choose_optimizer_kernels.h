// The run-time choice between the instruction-set levels that the optimizers'
// loops are compiled for.

#ifndef SELARI_KERNELS_OPTIMIZER_CHOOSE_OPTIMIZER_KERNELS_H_
#define SELARI_KERNELS_OPTIMIZER_CHOOSE_OPTIMIZER_KERNELS_H_

#include "common/isa.h"
#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {

// The kernels compiled for `level`. Lives for the whole process. Thread-safe.
// REQUIRES: level <= DetectIsaLevel(), checked.
const OptimizerKernels& ChooseOptimizerKernels(IsaLevel level);

}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_CHOOSE_OPTIMIZER_KERNELS_H_
