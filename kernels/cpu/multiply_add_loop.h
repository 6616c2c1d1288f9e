// The loop of peak_flops.h, once for each level.

#ifndef SELARI_KERNELS_CPU_MULTIPLY_ADD_LOOP_H_
#define SELARI_KERNELS_CPU_MULTIPLY_ADD_LOOP_H_

#include <cstdint>

namespace selari {

#define SELARI_DECLARE_MULTIPLY_ADD_LOOP(isa)        \
  namespace isa {                                    \
  float RunMultiplyAdds(std::int64_t rounds);        \
  /* Of one round, a multiply-add counted as two. */ \
  std::int64_t MultiplyAddFlops();                   \
  }

SELARI_DECLARE_MULTIPLY_ADD_LOOP(isa_v2)
SELARI_DECLARE_MULTIPLY_ADD_LOOP(isa_v3)
SELARI_DECLARE_MULTIPLY_ADD_LOOP(isa_v4)

#undef SELARI_DECLARE_MULTIPLY_ADD_LOOP

}  // namespace selari

#endif  // SELARI_KERNELS_CPU_MULTIPLY_ADD_LOOP_H_
