// Checkpoints as text for people: what `selari checkpoint list` and `verify`
// print. Pure functions.

#ifndef SELARI_SERVER_CHECKPOINT_DESCRIBE_H_
#define SELARI_SERVER_CHECKPOINT_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/checkpoint/checkpoint_list.h"

namespace selari {

// A table with one line for each checkpoint, and below it a sentence for each
// that is damaged and one on what was not looked at. Times are in UTC.
// REQUIRES: there is one.
std::string DescribeCheckpoints(const std::vector<CheckpointInfo>& checkpoints);

// One sentence if the checkpoint is whole, otherwise one for each problem.
std::string DescribeVerification(absl::string_view dir,
                                 const VerifyReport& report);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_DESCRIBE_H_
