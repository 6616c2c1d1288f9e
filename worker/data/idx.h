// IDX, the format of MNIST and its relatives: two zero bytes, one byte for
// the element type, one for the number of dimensions, then each dimension and
// the elements in big-endian order.

#ifndef SELARI_WORKER_DATA_IDX_H_
#define SELARI_WORKER_DATA_IDX_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/encoded_array.h"

namespace selari {

// Understands the header of `bytes`, the whole file once unpacked; CheckLength
// holds for the result. `source` names the file in messages.
// INVALID_ARGUMENT when it is no IDX file, of an unknown element type,
// truncated or longer than its header says.
absl::StatusOr<EncodedArray> ParseIdx(std::string source, std::string bytes);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_IDX_H_
