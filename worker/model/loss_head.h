// LossHead: the loss over the outputs of the last layer, its gradient, and how
// many rows are right.

#ifndef SELARI_WORKER_MODEL_LOSS_HEAD_H_
#define SELARI_WORKER_MODEL_LOSS_HEAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/batch.h"
#include "worker/model/layer.h"
#include "worker/model/model.h"
#include "worker/model/model_plan.h"

namespace selari {

class LossHead {
 public:
  // `outputs`: of one row. `environment` is borrowed.
  LossHead(LossKind loss, int64_t outputs, LayerEnvironment* environment)
      : loss_(loss), outputs_(outputs), environment_(*environment) {}

  // INVALID_ARGUMENT when the batch lacks what the loss needs, or a label is
  // out of range (names the sample).
  absl::Status CheckLabels(const StepBatch& batch) const;

  // outputs and grad (rows, outputs of a row); grad may be null, and is
  // divided by batch.global_size.
  // REQUIRES: CheckLabels is OK.
  StepLoss Evaluate(const StepBatch& batch, const float* outputs, float* grad);

 private:
  void EvaluateRows(const StepBatch& batch, const float* outputs, int64_t begin,
                    int64_t end, float* grad);
  int64_t CountCorrect(const StepBatch& batch, const float* outputs) const;

  const LossKind loss_;
  const int64_t outputs_;
  LayerEnvironment& environment_;
  // The loss of each row.
  std::vector<float> row_loss_;
};

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_LOSS_HEAD_H_
