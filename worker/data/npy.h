// NumPy's .npy format, versions 1 to 3: a magic, a Python dictionary with
// element type, order and shape, then the elements.

#ifndef SELARI_WORKER_DATA_NPY_H_
#define SELARI_WORKER_DATA_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/encoded_array.h"

namespace selari {

// Understands the header of `bytes`, the whole file once unpacked; CheckLength
// holds for the result. `source` names the file in messages.
// Takes bool, integers of 1 to 8 bytes, float32 and float64 in either byte
// order. INVALID_ARGUMENT, with what to do about it, for any other type,
// Fortran order, pickled objects, a damaged header or a wrong length.
absl::StatusOr<EncodedArray> ParseNpy(std::string source, std::string bytes);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_NPY_H_
