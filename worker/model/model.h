// Model: what the training step needs of a model. Network implements it for
// models built of the job's layers; a user's own C++ model implements it
// directly.
//
// A model is a chain of stages, each with some of the tensors. A training step
// makes these calls, and no others, so that weights may arrive stage by stage
// on the way up and gradients leave stage by stage on the way down:
//
//   Start(batch, kTraining);
//   for (stage = 0 .. stage_count - 1)  Forward(stage, its tensors);
//   Loss();
//   for (stage = stage_count - 1 .. 0)  Backward(stage, its tensors, ...);
//
// An evaluation stops after Loss. A step may be left unfinished; the next
// Start begins anew.
//
// For equal bits on any cluster, each leaf's gradient must be a pure function
// of (seed, step, leaf, weights), computed in one fixed order, and leaves must
// be added along the tree of kernels/tree_sum.h.
//
// One thread calls; an implementation may use threads of its own.

#ifndef SELARI_WORKER_MODEL_MODEL_H_
#define SELARI_WORKER_MODEL_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/data/batch.h"
#include "worker/model/leaf_span.h"

namespace selari {

struct ModelTensor {
  // As in the job.
  std::string name;
  // Elements.
  int64_t size = 0;
};

// Tensors [begin, end) of Model::tensors(), possibly none.
struct TensorRange {
  int32_t begin = 0;
  int32_t end = 0;
};

enum class StepMode { kTraining, kEvaluation };

// What one step's forward pass came to, over the rows of the batch.
struct StepLoss {
  // Sum of the losses of each leaf's rows, in the batch's order of leaves.
  std::vector<double> leaf_loss;
  // Rows that were classified right; 0 for a regression.
  int64_t correct_count = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  // All tensors, in the job's order.
  virtual absl::Span<const ModelTensor> tensors() const = 0;
  virtual int32_t stage_count() const = 0;
  // Ascending and without gaps from stage to stage.
  virtual TensorRange StageTensors(int32_t stage) const = 0;

  // Begins a step. `batch` is borrowed until the next Start.
  // INVALID_ARGUMENT when it does not fit the model.
  virtual absl::Status Start(const StepBatch& batch, StepMode mode) = 0;

  // `tensors` are the stage's, in order, each 64-byte aligned; they stay as
  // they are until Backward of this stage returns.
  virtual absl::Status Forward(int32_t stage, TensorSpans tensors) = 0;

  // After the last Forward. Never fails for a loss that is not finite: the
  // caller checks.
  virtual absl::StatusOr<StepLoss> Loss() = 0;

  // Writes the gradient of the global mean loss (so: divided by
  // batch.global_size) by each tensor of the stage, summed over the leaves of
  // each node, to tensor_grads, shape (nodes, tensors of the stage). The nodes
  // cover every leaf of the batch once.
  virtual absl::Status Backward(int32_t stage, TensorSpans tensors,
                                absl::Span<const LeafSpan> nodes,
                                absl::Span<float* const> tensor_grads) = 0;

  // The same for one leaf alone, to find out which leaf spoils a sum. Only
  // right after Backward of the stage. UNIMPLEMENTED unless overridden.
  virtual absl::Status LeafGradient(int32_t stage, TensorSpans tensors,
                                    int64_t leaf,
                                    absl::Span<float* const> tensor_grads) {
    (void)stage, (void)tensors, (void)leaf, (void)tensor_grads;
    return absl::UnimplementedError("this model has no gradient per leaf");
  }

  // After Loss: one score a row, higher for class 1, when the model tells two
  // classes apart; empty otherwise. Valid until the next Start.
  virtual absl::Span<const float> Scores() const { return {}; }
};

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_MODEL_H_
