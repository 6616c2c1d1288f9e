// One whole array of a checkpoint (a tensor's weights or one of its slots),
// block by block, for whoever needs it in order but not in memory.

#ifndef SELARI_SERVER_CHECKPOINT_STREAM_ARRAY_H_
#define SELARI_SERVER_CHECKPOINT_STREAM_ARRAY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {

// Calls `take` with the little-endian bytes of the array's elements, in order,
// in blocks of at most 1 MiB, until it fails. Errors of `take` or as
// CheckpointReader::Read. `tensor` and `array` as in CheckpointReader::Place.
[[nodiscard]] absl::Status StreamArray(
    CheckpointReader& reader, int32_t tensor, int32_t array,
    absl::FunctionRef<absl::Status(absl::string_view bytes)> take);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_STREAM_ARRAY_H_
