#include "server/shard/admission.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/reduction_round.h"

namespace selari {
namespace {

constexpr int32_t kRetryAfterMs = 20;
// Far beyond any job; clocks can be counted on from here without overflow.
constexpr int64_t kStepMax = int64_t{1} << 62;

Refusal PastTheEnd(absl::string_view request, int64_t total_steps) {
  return {absl::OutOfRangeError(
              absl::StrCat(request, ", the job ends after ", total_steps,
                           total_steps == 1 ? " step" : " steps")),
          ErrorReason::kStepTooFar};
}

}  // namespace

std::string PushName(const ShardJob& job, int32_t chunk) {
  return absl::StrCat("push for tensor \"",
                      job.tensor(job.layout.chunk(chunk)).name(), "\" chunk ",
                      chunk);
}

RequestError RefusePush(const ChunkPush& push, Refusal refusal) {
  return {push.chunk,     push.step,
          push.sequence,  std::move(refusal.status),
          refusal.reason, refusal.retry_after_ms};
}

RequestError RefusePull(const ChunkPull& pull, Refusal refusal) {
  return {pull.chunk,     pull.min_version,
          /*sequence=*/0, std::move(refusal.status),
          refusal.reason, refusal.retry_after_ms};
}

RequestError RefuseTotals(const ReductionTotals& totals, Refusal refusal) {
  return {/*chunk=*/-1,   totals.step,
          /*sequence=*/0, std::move(refusal.status),
          refusal.reason, refusal.retry_after_ms};
}

std::optional<Refusal> CheckNumbers(const ChunkPush& push) {
  if (push.step >= 0 && push.step <= kStepMax && push.sequence >= 1) {
    return std::nullopt;
  }
  return Refusal{
      absl::InvalidArgumentError(absl::StrCat(
          "push for chunk ", push.chunk, " has step ", push.step,
          " and sequence ", push.sequence, ", must have a step in [0, ",
          kStepMax, "] and a sequence of at least 1")),
      ErrorReason::kShapeMismatch};
}

std::optional<Refusal> CheckGradient(const ShardJob& job,
                                     const ChunkPush& push) {
  const ChunkSpec& spec = job.layout.chunk(push.chunk);
  if (push.gradient.size() != spec.count) {
    return Refusal{absl::InvalidArgumentError(absl::StrCat(
                       PushName(job, push.chunk), ": ", push.gradient.size(),
                       " elements, chunk has ", spec.count)),
                   ErrorReason::kShapeMismatch};
  }
  for (int64_t begin = 0; begin < spec.count;) {
    float straddling = 0;
    const FloatSlice::Part part = push.gradient.PartAt(begin, &straddling);
    if (!job.optimizer_kernels.all_finite(part.data, part.size)) {
      int64_t i = 0;
      while (std::isfinite(static_cast<float>(part.data[i]))) {
        ++i;
      }
      const float bad = part.data[i];
      return Refusal{absl::InvalidArgumentError(absl::StrCat(
                         PushName(job, push.chunk), ": element ",
                         spec.offset + begin + i, " of the tensor is ", bad)),
                     ErrorReason::kNotFinite};
    }
    begin += part.size;
  }
  return std::nullopt;
}

std::optional<Refusal> CheckSyncStep(const ShardJob& job, const ChunkPush& push,
                                     int64_t version) {
  if (!job.tree.Contains(push.node)) {
    return Refusal{
        absl::InvalidArgumentError(absl::StrFormat(
            "%s: node (level %d, index %d) is not in the tree of %d leaves",
            PushName(job, push.chunk), push.node.level, push.node.index,
            job.tree.leaf_count())),
        ErrorReason::kShapeMismatch};
  }
  const int64_t total_steps = job.resolved.total_steps();
  if (total_steps > 0 && push.step >= total_steps) {
    return PastTheEnd(absl::StrCat(PushName(job, push.chunk), ": step ",
                                   push.step, ", counted from 0"),
                      total_steps);
  }
  if (push.step > version + 1) {
    return Refusal{absl::FailedPreconditionError(absl::StrCat(
                       PushName(job, push.chunk), ": step ", push.step,
                       ", the shard is at step ", version,
                       " and keeps gradients of that and the next step only")),
                   ErrorReason::kStepTooFar};
  }
  return std::nullopt;
}

std::optional<Refusal> CheckPull(const ShardJob& job, const ChunkPull& pull) {
  if (pull.clock < 0 || pull.clock > kStepMax) {
    return Refusal{absl::InvalidArgumentError(absl::StrCat(
                       "pull of chunk ", pull.chunk, ": clock ", pull.clock,
                       ", must be in [0, ", kStepMax, "]")),
                   ErrorReason::kShapeMismatch};
  }
  const int64_t total_steps = job.resolved.total_steps();
  if (!job.sync() || total_steps == 0 || pull.min_version <= total_steps) {
    return std::nullopt;
  }
  return PastTheEnd(absl::StrCat("pull of chunk ", pull.chunk,
                                 " waits for version ", pull.min_version),
                    total_steps);
}

std::optional<Refusal> CheckExactPull(const ShardJob& job,
                                      const ChunkPull& pull, int64_t version,
                                      bool kept) {
  const bool there =
      version <= pull.min_version || (kept && version == pull.min_version + 1);
  if (job.sync() && there) {
    return std::nullopt;
  }
  const std::string name = absl::StrCat("pull of chunk ", pull.chunk,
                                        ": exactly version ", pull.min_version);
  if (!job.sync()) {
    return Refusal{absl::InvalidArgumentError(absl::StrCat(
                       name,
                       " is for CONSISTENCY_SYNC, where workers are in "
                       "step")),
                   ErrorReason::kUnspecified};
  }
  return Refusal{absl::FailedPreconditionError(absl::StrCat(
                     name, " is gone, the chunk is at version ", version,
                     kept ? " and has the one before" : "")),
                 ErrorReason::kStepTooFar};
}

std::optional<Refusal> CheckSequence(const ChunkPush& push,
                                     int64_t next_sequence) {
  if (push.sequence == next_sequence) {
    return std::nullopt;
  }
  return Refusal{absl::AbortedError(absl::StrCat(
                     "push for chunk ", push.chunk, " has sequence ",
                     push.sequence, ", the next one must be ", next_sequence,
                     ": send again from there on")),
                 ErrorReason::kSequenceGap};
}

std::optional<Refusal> CheckTotals(const ShardJob& job,
                                   const ReductionTotals& totals, int64_t step,
                                   int32_t round, bool all_reduced) {
  const std::string name =
      absl::StrCat("totals of step ", totals.step, " round ", totals.round,
                   " for shard ", totals.shard);
  if (round >= job.optimizer->RoundCount()) {
    return Refusal{absl::InvalidArgumentError(absl::StrCat(
                       name, ": the job's optimizer has no such round")),
                   ErrorReason::kShapeMismatch};
  }
  if (totals.step != step || totals.round != round || !all_reduced) {
    return Refusal{absl::FailedPreconditionError(absl::StrCat(
                       name, ": the shard is at step ", step, " round ", round,
                       all_reduced ? "" : " and waits for gradients")),
                   ErrorReason::kStepTooFar};
  }
  const ReductionRound& expected = job.optimizer->Round(round);
  const size_t count = static_cast<size_t>(ReductionGroupCount(
                           expected, job.layout.tensor_count())) *
                       expected.sum_count;
  if (totals.totals.size() != count) {
    return Refusal{
        absl::InvalidArgumentError(absl::StrCat(
            name, ": ", totals.totals.size(), " numbers, must be ", count)),
        ErrorReason::kShapeMismatch};
  }
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(totals.totals[i])) {
      return Refusal{absl::InvalidArgumentError(absl::StrCat(
                         name, ": number ", i, " is ", totals.totals[i])),
                     ErrorReason::kNotFinite};
    }
  }
  return std::nullopt;
}

Refusal UnknownChunk(const ShardJob& job, int32_t chunk) {
  return {absl::InvalidArgumentError(
              absl::StrCat("no chunk ", chunk, ": the model has chunks 0 to ",
                           job.layout.chunks().size() - 1)),
          ErrorReason::kShapeMismatch};
}

Refusal JobStopped() {
  return {absl::AbortedError("the job is stopping at an earlier step"),
          ErrorReason::kJobStopped};
}

Refusal StaleIncarnation(const WorkerIdentity& worker) {
  return {absl::FailedPreconditionError(absl::StrCat(
              "worker ", worker.worker_id,
              " has been replaced: another process took over its id")),
          ErrorReason::kStaleIncarnation};
}

Refusal ObserverPush() {
  return {absl::InvalidArgumentError(
              "a push needs a worker id; this client is an observer"),
          ErrorReason::kUnspecified};
}

Refusal TooManyWaiting(int32_t chunk, int64_t limit) {
  return {absl::ResourceExhaustedError(absl::StrCat(
              limit, " requests wait for chunk ", chunk, " already")),
          ErrorReason::kQueueFull, kRetryAfterMs};
}

}  // namespace selari
