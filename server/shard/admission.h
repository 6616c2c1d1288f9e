// What a shard refuses before anything is changed, and the words for it.
//
// Pure functions: safe from any thread.

#ifndef SELARI_SERVER_SHARD_ADMISSION_H_
#define SELARI_SERVER_SHARD_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/shard_message.h"
#include "server/shard/shard_job.h"

namespace selari {

struct Refusal {
  absl::Status status;
  ErrorReason reason = ErrorReason::kUnspecified;
  int32_t retry_after_ms = 0;
};

// 'push for tensor "dense1/kernel" chunk 3'
std::string PushName(const ShardJob& job, int32_t chunk);

RequestError RefusePush(const ChunkPush& push, Refusal refusal);
RequestError RefusePull(const ChunkPull& pull, Refusal refusal);
// Chunk -1: the totals of a shard name no chunk.
RequestError RefuseTotals(const ReductionTotals& totals, Refusal refusal);

// INVALID_ARGUMENT kShapeMismatch unless the step is in [0, 2^62] and the
// sequence at least 1.
std::optional<Refusal> CheckNumbers(const ChunkPush& push);

// INVALID_ARGUMENT kShapeMismatch (another number of elements than the chunk)
// or kNotFinite (names the tensor, the element and its value).
// REQUIRES: push.chunk is a chunk of the job.
std::optional<Refusal> CheckGradient(const ShardJob& job,
                                     const ChunkPush& push);

// SYNC: INVALID_ARGUMENT when push.node is not in the job's tree, or
// FAILED_PRECONDITION kStepTooFar when the step is past version + 1: a worker
// cannot have computed that gradient from weights it pulled; OUT_OF_RANGE
// kStepTooFar when the job ends before that step.
std::optional<Refusal> CheckSyncStep(const ShardJob& job, const ChunkPush& push,
                                     int64_t version);

// INVALID_ARGUMENT kShapeMismatch for a clock outside [0, 2^62]; SYNC:
// OUT_OF_RANGE kStepTooFar when no update of the job makes the version that is
// asked for, so that the pull would wait for ever.
std::optional<Refusal> CheckPull(const ShardJob& job, const ChunkPull& pull);

// FAILED_PRECONDITION kStepTooFar unless the chunk, which is at `version`, has
// the exact version that is asked for, or will have; INVALID_ARGUMENT outside
// SYNC. `kept`: it has the version before, too.
std::optional<Refusal> CheckExactPull(const ShardJob& job,
                                      const ChunkPull& pull, int64_t version,
                                      bool kept);

// BOUNDED, ASYNC: ABORTED kSequenceGap unless the push is the next one.
// REQUIRES: push.sequence >= next_sequence.
std::optional<Refusal> CheckSequence(const ChunkPush& push,
                                     int64_t next_sequence);

// FAILED_PRECONDITION or INVALID_ARGUMENT unless the totals are those of
// `round` of `step`, the ones the shard waits for.
std::optional<Refusal> CheckTotals(const ShardJob& job,
                                   const ReductionTotals& totals, int64_t step,
                                   int32_t round, bool all_reduced);

Refusal UnknownChunk(const ShardJob& job, int32_t chunk);
Refusal JobStopped();
Refusal StaleIncarnation(const WorkerIdentity& worker);
Refusal ObserverPush();
Refusal TooManyWaiting(int32_t chunk, int64_t limit);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_ADMISSION_H_
