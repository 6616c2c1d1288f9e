// StepLoop: the training loop of one worker.
//
//   pull -> compute -> push -> advance
//
// Weights are awaited stage by stage on the way up; on the way down a stage's
// gradient, summed along the tree nodes that this worker holds, is pushed as
// soon as it exists, and the stage's next weights are asked for at once: they
// travel while the stages below are still being computed.

#ifndef SELARI_WORKER_STEP_H_
#define SELARI_WORKER_STEP_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/buffer_pool.h"
#include "common/reduction_tree.h"
#include "common/unaligned_float.h"
#include "worker/client/parameter_client.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/data/prefetcher.h"
#include "worker/data/sampler.h"
#include "worker/model/evaluation.h"
#include "worker/model/leaf_span.h"
#include "worker/model/model.h"

namespace selari {

// One finished step, over this worker's samples.
struct StepReport {
  // Index of the global batch, from 0.
  int64_t step = 0;
  double loss_sum = 0.0;
  // 0 for a regression.
  int64_t correct_count = 0;
  int64_t sample_count = 0;
  // Where the time of this step went, evaluation not counted.
  int64_t compute_us = 0;
  int64_t pull_wait_us = 0;
  int64_t push_wait_us = 0;
  // Since the step before was done, evaluation and waiting for data counted; of
  // the first, since it began.
  int64_t elapsed_us = 0;
};

// Told what happens, on the loop's thread; must not block for long.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // After each step. An error ends the loop, which returns it.
  virtual absl::Status OnStep(const StepReport& report) = 0;
  // `step`: steps done when the weights were as evaluated.
  virtual void OnEvaluation(int64_t step, const EvaluationResult& result) = 0;
};

struct StepLoopOptions {
  // This worker's steps are first_step, first_step + stride, ... below
  // end_step. In SYNC stride is 1. In BOUNDED and ASYNC it is the number of
  // workers, and first_step is congruent to this worker's number; the worker's
  // clock is then step / stride.
  int64_t first_step = 0;
  int64_t end_step = 0;
  int64_t stride = 1;
  // Leaves that every batch is cut into, as the sampler's.
  int32_t leaf_count = 8;
  // Those this worker computes: in SYNC its share, else all. A worker without
  // leaves has no steps.
  LeafRange leaves;
  // The nodes as which they are pushed, left to right, that cover them once.
  // Empty: the fewest.
  std::vector<TreeNode> nodes;
  // Evaluates when that many steps are done again, >= 1; 0: never on the way.
  int64_t evaluate_every_steps = 0;
  // Evaluates after the last step.
  bool evaluate_at_end = false;
  PrefetcherOptions prefetcher;
};

class StepLoop {
 public:
  // All are borrowed and must outlive this. `held_out` may be null when
  // nothing is evaluated.
  struct Parts {
    Model* model = nullptr;
    ParameterClient* client = nullptr;
    const Dataset* training = nullptr;
    const Sampler* sampler = nullptr;
    const Dataset* held_out = nullptr;
    StepObserver* observer = nullptr;
  };

  StepLoop(const Parts& parts, const StepLoopOptions& options);
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  // Runs all steps, waits until their pushes are acknowledged, evaluates. Call
  // once. Returns the first error: the client's (ABORTED by IsJobStopped when
  // the job ends early), the observer's, or INVALID_ARGUMENT when a loss or a
  // gradient is not finite, naming step, tensor and leaf.
  absl::Status Run();

 private:
  // Steps this worker has done before `step`.
  int64_t ClockOf(int64_t step) const { return step / options_.stride; }
  bool EvaluationIsDue(int64_t step) const;

  void RequestPulls(TensorRange tensors, int64_t clock);
  // Waits for the tensors, whose spans are then in tensors_.
  absl::Status WaitForTensors(TensorRange tensors);
  TensorSpans SpansOf(TensorRange tensors) const;

  absl::Status EvaluateAt(int64_t step);
  absl::Status Forward(const StepBatch& batch);
  absl::StatusOr<StepLoss> CheckedLoss(const StepBatch& batch);
  absl::Status Backward(const StepBatch& batch);
  absl::Status BackwardStage(const StepBatch& batch, int32_t stage);
  absl::Status Advance(const StepBatch& batch, const StepLoss& loss);
  // The error for a gradient that is not finite, with the leaf it comes from.
  absl::Status NotFinite(const StepBatch& batch, int32_t stage, int32_t tensor,
                         LeafSpan node);

  const Parts parts_;
  const StepLoopOptions options_;
  bool (*const all_finite_)(const UnalignedFloat* values, std::int64_t n);
  // What this worker pushes, by name and by its leaves here.
  std::vector<TreeNode> nodes_;
  std::vector<LeafSpan> node_leaves_;
  // By tensor: its weights, and buffers for its gradients.
  std::vector<absl::Span<const float>> tensors_;
  std::vector<std::unique_ptr<BufferPool>> gradient_pools_;
  // When the current step began, and the client's times then.
  std::chrono::steady_clock::time_point step_begin_;
  ClientStats stats_begin_;
  // When the step before was done; of the first, when it began.
  std::optional<std::chrono::steady_clock::time_point> last_end_;
};

}  // namespace selari

#endif  // SELARI_WORKER_STEP_H_
