#include "kernels/optimizer/cpu/kernel_table.h"

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

extern const OptimizerKernels kOptimizerKernels = {
    Sgd,  HeavyBall, Nesterov, Adagrad,      RmsProp,      RmsPropMomentum,
    Adam, Lamb,      LambSums, SumOfSquares, ClipAndScale, AllFinite,
};

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
