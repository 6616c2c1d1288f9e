#include "server/shard/optimizer/create_optimizer.h"

#include <variant>

#include "common/status.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"
#include "server/shard/optimizer/adagrad.h"
#include "server/shard/optimizer/adam.h"
#include "server/shard/optimizer/adam_w.h"
#include "server/shard/optimizer/lamb.h"
#include "server/shard/optimizer/momentum.h"
#include "server/shard/optimizer/rms_prop.h"
#include "server/shard/optimizer/sgd.h"

namespace selari {
namespace {

using OptimizerPtr = std::unique_ptr<Optimizer>;

OptimizerPtr Make(const OptimizerOptions& options, const SgdOptions& algorithm,
                  const OptimizerKernels& kernels) {
  if (algorithm.momentum > 0) {
    return std::make_unique<Momentum>(options, algorithm, kernels);
  }
  return std::make_unique<Sgd>(options, kernels);
}

OptimizerPtr Make(const OptimizerOptions& options,
                  const AdagradOptions& algorithm,
                  const OptimizerKernels& kernels) {
  return std::make_unique<Adagrad>(options, algorithm, kernels);
}

OptimizerPtr Make(const OptimizerOptions& options,
                  const RmsPropOptions& algorithm,
                  const OptimizerKernels& kernels) {
  return std::make_unique<RmsProp>(options, algorithm, kernels);
}

OptimizerPtr Make(const OptimizerOptions& options, const AdamOptions& algorithm,
                  const OptimizerKernels& kernels) {
  return std::make_unique<Adam>(options, algorithm, kernels);
}

OptimizerPtr Make(const OptimizerOptions& options,
                  const AdamWOptions& algorithm,
                  const OptimizerKernels& kernels) {
  return std::make_unique<AdamW>(options, algorithm, kernels);
}

OptimizerPtr Make(const OptimizerOptions& options, const LambOptions& algorithm,
                  const OptimizerKernels& kernels) {
  return std::make_unique<Lamb>(options, algorithm, kernels);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(
    const OptimizerOptions& options, IsaLevel level) {
  SELARI_RETURN_IF_ERROR(ValidateOptimizerOptions(options));
  const OptimizerKernels& kernels = ChooseOptimizerKernels(level);
  return std::visit(
      [&](const auto& algorithm) { return Make(options, algorithm, kernels); },
      options.algorithm);
}

}  // namespace selari
