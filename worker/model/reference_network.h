// The loss of a planned model in double precision, from the plain loops of
// kernels/reference: what gradients are checked against.

#ifndef SELARI_WORKER_MODEL_REFERENCE_NETWORK_H_
#define SELARI_WORKER_MODEL_REFERENCE_NETWORK_H_

#include <cstdint>
#include <vector>

#include "worker/data/batch.h"
#include "worker/model/model_plan.h"

namespace selari {

// Sum over the batch's rows of the loss, divided by batch.global_size, while
// training with `seed`. `tensors` has the plan's tensors in order.
double ReferenceLoss(const ModelPlan& plan, uint64_t seed,
                     const StepBatch& batch,
                     const std::vector<std::vector<double>>& tensors);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_REFERENCE_NETWORK_H_
