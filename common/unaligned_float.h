// UnalignedFloat: a float at any address. Gradients are read where the network
// put them, and loops over them compile to the same vector loads as over
// aligned floats.

#ifndef SELARI_COMMON_UNALIGNED_FLOAT_H_
#define SELARI_COMMON_UNALIGNED_FLOAT_H_

namespace selari {

// A pointer to float converts to a pointer to it.
typedef float UnalignedFloat __attribute__((aligned(1)));

}  // namespace selari

#endif  // SELARI_COMMON_UNALIGNED_FLOAT_H_
