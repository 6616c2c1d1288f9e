// The first thing that happens to a push whose gradient is encoded.

#ifndef SELARI_SERVER_SHARD_DECODE_PUSH_H_
#define SELARI_SERVER_SHARD_DECODE_PUSH_H_

#include <optional>

#include "common/shard_message.h"
#include "server/shard/admission.h"
#include "server/shard/shard_job.h"

namespace selari {

// Replaces an encoded gradient by its floats, in memory of its own; leaves one
// that is kFloat32 alone. INVALID_ARGUMENT kShapeMismatch names the codec and
// the numbers that do not fit; UNIMPLEMENTED for an unknown encoding. What the
// floats are is for CheckGradient to say. REQUIRES: push->chunk is a chunk of
// the job.
std::optional<Refusal> DecodePush(const ShardJob& job, ChunkPush* push);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_DECODE_PUSH_H_
