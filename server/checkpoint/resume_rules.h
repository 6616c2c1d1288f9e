// Which fields of a job may differ between the run that wrote a checkpoint and
// the one that goes on from it. README.md has the table for people.
//
// Thread safety: pure functions.

#ifndef SELARI_SERVER_CHECKPOINT_RESUME_RULES_H_
#define SELARI_SERVER_CHECKPOINT_RESUME_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "selari/v1/job.pb.h"

namespace selari {

enum class ResumeRule {
  // The weights or the optimizer's state would mean something else.
  kRefused,
  // Refused if one of the values is 0 and the other is not: it decides how
  // much state the optimizer keeps. Otherwise told.
  kDecidesState,
  // Goes on, with other bits than the run that was saved would have.
  kTold,
  // Never changes a result, or is meant to: shape, length, reports.
  kFree,
};

// Of a field of ResolvedJob, e.g. "job.model.layers.dense.units", without
// indices, or of a oneof. Empty when nobody has decided.
std::optional<ResumeRule> ResumeRuleOf(absl::string_view field);

// FAILED_PRECONDITION, naming the first field that must not differ, both values
// and what to do, unless `job` can go on from a checkpoint of `saved`.
absl::Status CheckCanGoOn(const v1::ResolvedJob& saved,
                          const v1::ResolvedJob& job);

// One line for each difference that changes results and is allowed, e.g.
// "optimizer.learning_rate: 0.1 -> 0.2".
std::vector<std::string> DescribeJobDifferences(const v1::ResolvedJob& saved,
                                                const v1::ResolvedJob& job);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_RESUME_RULES_H_
