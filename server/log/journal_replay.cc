#include "server/log/journal_replay.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/chunk_layout.h"
#include "common/shard_message.h"
#include "common/status.h"
#include "selari/v1/job.pb.h"
#include "server/shard/admission.h"
#include "server/shard/reduced_gradient.h"
#include "server/shard/shard_op.h"
#include "server/shard/shard_state.h"

namespace selari {
namespace {

absl::Status CheckMode(bool fits, const ShardState& state) {
  return fits ? absl::OkStatus()
              : absl::DataLossError(absl::StrCat(
                    "the op is of another consistency mode than the job, ",
                    v1::Consistency_Name(state.job().consistency)));
}

absl::Status CheckChunk(int32_t chunk, const ReducedGradient& gradient,
                        const ShardState& state) {
  const absl::Span<const ChunkSpec> chunks = state.chunks();
  if (chunks.empty() || chunk < chunks.front().chunk ||
      chunk > chunks.back().chunk) {
    return absl::DataLossError(absl::StrCat("the op is of chunk ", chunk,
                                            ", which shard ", state.shard(),
                                            " does not have"));
  }
  const int64_t count = chunks[state.IndexOf(chunk)].count;
  if (gradient.size() != count) {
    return absl::DataLossError(absl::StrCat("the op has ", gradient.size(),
                                            " floats for chunk ", chunk,
                                            ", must be ", count));
  }
  return absl::OkStatus();
}

// True when the state has the op already.
absl::StatusOr<bool> Known(const ReducedOp& op, const ShardState& state) {
  SELARI_RETURN_IF_ERROR(CheckMode(state.job().sync(), state));
  SELARI_RETURN_IF_ERROR(CheckChunk(op.chunk, op.gradient, state));
  const size_t index = state.IndexOf(op.chunk);
  const int64_t version = state.version(index);
  if (op.step < version) {
    return true;
  }
  if (op.step > version || state.reduced(index) || state.round() != 0) {
    return absl::DataLossError(
        absl::StrCat("the op is the gradient of step ", op.step, " for chunk ",
                     op.chunk, ", which is at step ", version,
                     op.step > version ? "; ops in between are missing"
                                       : " and has that gradient"));
  }
  return false;
}

absl::StatusOr<bool> Known(const TotalsOp& op, const ShardState& state) {
  SELARI_RETURN_IF_ERROR(CheckMode(state.job().sync(), state));
  if (op.step < state.min_version()) {
    return true;
  }
  const std::optional<Refusal> refusal =
      CheckTotals(state.job(), {op.step, op.round, state.shard(), op.totals},
                  state.min_version(), state.round(), state.AllReduced());
  if (refusal.has_value()) {
    return absl::DataLossError(refusal->status.message());
  }
  return false;
}

absl::StatusOr<bool> Known(const PushOp& op, const ShardState& state) {
  SELARI_RETURN_IF_ERROR(CheckMode(!state.job().sync(), state));
  SELARI_RETURN_IF_ERROR(CheckChunk(op.chunk, op.gradient, state));
  const int64_t next = state.workers().NextSequence(op.worker);
  if (op.sequence != next || op.clock == std::numeric_limits<int64_t>::max()) {
    return absl::DataLossError(absl::StrCat(
        "the op is push ", op.sequence, " of clock ", op.clock, " of worker ",
        op.worker.worker_id, ", must be push ", next));
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> ReplayOp(const ShardOp& op, ShardState* state) {
  SELARI_ASSIGN_OR_RETURN(
      const bool known,
      std::visit([state](const auto& one) { return Known(one, *state); }, op));
  if (known) {
    return false;
  }
  ApplyEffects effects;
  state->Apply(op, &effects);
  return true;
}

}  // namespace selari
