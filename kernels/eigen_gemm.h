// Eigen's matrix products behind the interface of gemm.h, for gemm_benchmark
// only: they do not keep its contract.

#ifndef SELARI_KERNELS_EIGEN_GEMM_H_
#define SELARI_KERNELS_EIGEN_GEMM_H_

#include "common/isa.h"
#include "kernels/gemm.h"

namespace selari {

// Dense operands; no accumulate, no epilogue.
struct EigenGemm {
  void (*ab)(const GemmArgs& args);
  void (*abt)(const GemmArgs& args);
  void (*atb)(const GemmArgs& args);
};

EigenGemm EigenGemmFor(IsaLevel level);

namespace isa_v2 {
EigenGemm MakeEigenGemm();
}
namespace isa_v3 {
EigenGemm MakeEigenGemm();
}
namespace isa_v4 {
EigenGemm MakeEigenGemm();
}

inline EigenGemm EigenGemmFor(IsaLevel level) {
  return level == IsaLevel::kV4   ? isa_v4::MakeEigenGemm()
         : level == IsaLevel::kV3 ? isa_v3::MakeEigenGemm()
                                  : isa_v2::MakeEigenGemm();
}

}  // namespace selari

#endif  // SELARI_KERNELS_EIGEN_GEMM_H_
