// The digest of a model's whole state: what `selari digest` prints and what
// two runs must share to have trained the same model. docs/FORMAT.md says
// which bytes it covers.

#ifndef SELARI_SERVER_CHECKPOINT_STATE_DIGEST_H_
#define SELARI_SERVER_CHECKPOINT_STATE_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {

// SHA-256, as 64 hexadecimal digits, over the step and, tensor after tensor,
// name, shape, weights and optimizer slots. It depends neither on the number
// of shards nor on how chunks and files are cut, nor on the job's name or id.
// Reads every file, in blocks. Errors as CheckpointReader::Read.
absl::StatusOr<std::string> StateDigest(CheckpointReader& reader);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_STATE_DIGEST_H_
