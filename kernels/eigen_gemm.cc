#include "kernels/eigen_gemm.h"

#include <Eigen/Core>

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Matrix>;
using Out = Eigen::Map<Matrix>;

void Ab(const GemmArgs& args) {
  const GemmShape& s = args.shape;
  Out(args.c, s.rows, s.cols).noalias() =
      In(args.a, s.rows, s.depth) * In(args.b, s.depth, s.cols);
}

void Abt(const GemmArgs& args) {
  const GemmShape& s = args.shape;
  Out(args.c, s.rows, s.cols).noalias() =
      In(args.a, s.rows, s.depth) * In(args.b, s.cols, s.depth).transpose();
}

void Atb(const GemmArgs& args) {
  const GemmShape& s = args.shape;
  Out(args.c, s.rows, s.cols).noalias() =
      In(args.a, s.depth, s.rows).transpose() * In(args.b, s.depth, s.cols);
}

}  // namespace

EigenGemm MakeEigenGemm() { return {&Ab, &Abt, &Atb}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
