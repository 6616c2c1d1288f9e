// What a job's compression comes to: which codec a tensor has, which parts of
// the global batch are compressed by themselves, and when nothing is held back.
//
// Thread safety: pure functions.

#ifndef SELARI_COMMON_JOB_COMPRESSION_H_
#define SELARI_COMMON_JOB_COMPRESSION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/reduction_tree.h"
#include "selari/v1/job.pb.h"

namespace selari {

// The parts of FillJobDefaults and ValidateJob (job_config.h) that look at the
// job's compression.
void FillCompressionDefaults(v1::Job* job);
absl::Status CheckCompression(const v1::Job& job);
// INVALID_ARGUMENT for a rule that fits no tensor of the model.
absl::Status CheckCompressionRules(const v1::ResolvedJob& job);

// The tensor's codec; null: it is sent as it is. Lives as long as the job.
const v1::GradientCodec* CodecOfTensor(const v1::Job& job,
                                       absl::string_view name);

// The nodes as which the gradient of `leaves` is pushed, left to right: with
// compression in SYNC those of the job's shares, else the fewest that cover
// them. REQUIRES: the job passed ValidateJob; `leaves` are those of one of its
// workers, or all.
std::vector<TreeNode> NodesToPush(const v1::Job& job, LeafRange leaves);

// SYNC: true when no worker holds anything back once `version` updates are
// applied: then a checkpoint is whole without residuals. Always true without
// compression.
bool IsResetVersion(const v1::ResolvedJob& job, int64_t version);
// The least such version from `version` on.
int64_t NextResetVersion(const v1::ResolvedJob& job, int64_t version);

// Whether the gradient of `step` goes out as it is, with all that was held
// back. BOUNDED and ASYNC: `step` is the worker's clock, and the last push of a
// worker, perhaps the one before it too, is one such.
bool IsResetStep(const v1::ResolvedJob& job, int64_t step);

}  // namespace selari

#endif  // SELARI_COMMON_JOB_COMPRESSION_H_
