#include "server/shard/shard_job.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/isa.h"
#include "common/job_layout.h"
#include "common/status.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/kernels.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"
#include "server/shard/optimizer/create_optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/optimizer_options_from_job.h"

namespace selari {
namespace {

// An update gives the same bits at every level; the job's is taken so that a
// process uses one throughout.
absl::StatusOr<IsaLevel> LevelOf(const v1::Job& job) {
  const v1::InstructionSet wanted = job.cluster().instruction_set();
  const IsaLevel best = DetectIsaLevel();
  if (wanted == v1::INSTRUCTION_SET_UNSPECIFIED) {
    return best;
  }
  if (static_cast<int>(wanted) > static_cast<int>(best)) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "cluster.instruction_set is ", v1::InstructionSet_Name(wanted),
            ", this processor has ", IsaLevelName(best), " at best")),
        ErrorReason::kInstructionSet);
  }
  return static_cast<IsaLevel>(wanted);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ShardJob>> ShardJob::Create(
    const v1::ResolvedJob& resolved) {
  const v1::Job& job = resolved.job();
  SELARI_ASSIGN_OR_RETURN(const IsaLevel level, LevelOf(job));
  SELARI_ASSIGN_OR_RETURN(ChunkLayout layout, MakeChunkLayout(resolved));
  SELARI_ASSIGN_OR_RETURN(const OptimizerOptions options,
                          OptimizerOptionsFromJob(job, resolved.total_steps()));
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer,
                          CreateOptimizer(options, level));
  SELARI_ASSIGN_OR_RETURN(LearningRate learning_rate,
                          LearningRate::Create(options));
  const int32_t leaf_count = job.training().leaf_count();
  if (leaf_count < 1 || leaf_count > 1024) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.leaf_count is ", leaf_count, ", must be in [1, 1024]"));
  }
  const v1::Consistency consistency =
      job.consistency().mode() == v1::CONSISTENCY_UNSPECIFIED
          ? v1::CONSISTENCY_SYNC
          : job.consistency().mode();
  return std::shared_ptr<const ShardJob>(new ShardJob{
      resolved, std::move(layout), ReductionTree(leaf_count), consistency,
      job.consistency().staleness(), std::move(optimizer),
      std::move(learning_rate), ChooseOptimizerKernels(level),
      ChooseCompressionKernels(level), KernelsFor(level).tree_sum.add});
}

}  // namespace selari
