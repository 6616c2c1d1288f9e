// The run-time choice between the instruction-set levels that the gradient
// codecs' loops are compiled for.

#ifndef SELARI_KERNELS_COMPRESSION_CHOOSE_COMPRESSION_KERNELS_H_
#define SELARI_KERNELS_COMPRESSION_CHOOSE_COMPRESSION_KERNELS_H_

#include "common/isa.h"
#include "kernels/compression/compression_kernels.h"

namespace selari {

// The kernels compiled for `level`. Lives for the whole process. Thread-safe.
// REQUIRES: level <= DetectIsaLevel(), checked.
const CompressionKernels& ChooseCompressionKernels(IsaLevel level);

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_CHOOSE_COMPRESSION_KERNELS_H_
