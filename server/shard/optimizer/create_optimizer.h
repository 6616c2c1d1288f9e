// The optimizer that a job asks for.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_CREATE_OPTIMIZER_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_CREATE_OPTIMIZER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/isa.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

// Its learning rate comes from LearningRate::Create with the same options.
// INVALID_ARGUMENT as ValidateOptimizerOptions.
// REQUIRES: level <= DetectIsaLevel().
absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(
    const OptimizerOptions& options, IsaLevel level);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_CREATE_OPTIMIZER_H_
