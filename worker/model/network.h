// Network: the Model of a job whose model is a list of layers. Each layer of
// the plan is a stage.
//
// Memory: the outputs of all layers for the rows of a step, two gradients of
// the largest layer, and what layers keep; grown once, then reused. No
// allocation that depends on rows in a steady state.
//
// Results depend on seed, step, leaves, samples and weights only: not on
// threads, nor on which other leaves the same worker holds.

#ifndef SELARI_WORKER_MODEL_NETWORK_H_
#define SELARI_WORKER_MODEL_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "kernels/kernels.h"
#include "worker/data/batch.h"
#include "worker/model/layer.h"
#include "worker/model/leaf_span.h"
#include "worker/model/loss_head.h"
#include "worker/model/model.h"
#include "worker/model/model_plan.h"

namespace selari {

struct NetworkOptions {
  // The job's seed: decides what dropout drops.
  uint64_t seed = 0;
  // Compute threads, >= 1, the caller's included.
  int thread_count = 1;
};

class Network final : public Model {
 public:
  // `kernels` is borrowed.
  Network(const ModelPlan& plan, const Kernels& kernels,
          const NetworkOptions& options);

  absl::Span<const ModelTensor> tensors() const override { return tensors_; }
  int32_t stage_count() const override {
    return static_cast<int32_t>(layers_.size());
  }
  TensorRange StageTensors(int32_t stage) const override {
    return stages_[static_cast<std::size_t>(stage)];
  }
  absl::Status Start(const StepBatch& batch, StepMode mode) override;
  absl::Status Forward(int32_t stage, TensorSpans tensors) override;
  absl::StatusOr<StepLoss> Loss() override;
  absl::Status Backward(int32_t stage, TensorSpans tensors,
                        absl::Span<const LeafSpan> nodes,
                        absl::Span<float* const> tensor_grads) override;
  absl::Status LeafGradient(int32_t stage, TensorSpans tensors, int64_t leaf,
                            absl::Span<float* const> tensor_grads) override;
  absl::Span<const float> Scores() const override;

  // (rows, outputs) of the last layer; after its Forward.
  const float* outputs() const;

 private:
  const float* InputOf(std::size_t stage) const;
  // The gradient of the stage's output; neighbours use different memory.
  float* OutputGradOf(std::size_t stage) {
    return output_grads_[stage % 2]->data();
  }
  bool StageHasRelu(std::size_t stage) const;
  BackwardArgs ArgsOf(std::size_t stage, TensorSpans tensors) const;

  const ModelPlan plan_;
  const NetworkOptions options_;
  LayerEnvironment environment_;
  LossHead loss_head_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<ModelTensor> tensors_;
  std::vector<TensorRange> stages_;

  // Of the current step.
  const StepBatch* batch_ = nullptr;
  StepContext context_;
  // Output of each stage, (rows, output size).
  std::vector<std::shared_ptr<FloatBuffer>> outputs_;
  std::shared_ptr<FloatBuffer> output_grads_[2];
};

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_NETWORK_H_
