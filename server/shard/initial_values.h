// The first values of a weight: a pure function of (seed, tensor index,
// element index), so that each shard makes its own chunks, however the tensor
// is cut, and nobody sends them.

#ifndef SELARI_SERVER_SHARD_INITIAL_VALUES_H_
#define SELARI_SERVER_SHARD_INITIAL_VALUES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "selari/v1/tensor.pb.h"

namespace selari {

// Writes elements [offset, offset + values.size()) of the flattened tensor
// with number `tensor` in the model. An initializer that is not set gives 0.
void FillInitialValues(uint64_t seed, int32_t tensor,
                       const v1::Initializer& initializer, int64_t offset,
                       absl::Span<float> values);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_INITIAL_VALUES_H_
