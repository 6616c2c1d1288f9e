// Layer: one link of a Network: forward for all rows of a step, backward with
// the gradient of each tree node. It knows the kernels and its plan, nothing
// of steps, servers or data.
//
// A layer may cut rows over the pool's threads as it likes, because a row's
// result depends on that row only; and must compute the gradient of each leaf
// in the kernels' fixed order and add leaves along the tree. So its results
// never depend on threads or on who holds which leaf.
//
// One layer belongs to one Network; one thread calls.

#ifndef SELARI_WORKER_MODEL_LAYER_H_
#define SELARI_WORKER_MODEL_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "kernels/kernels.h"
#include "worker/model/leaf_span.h"
#include "worker/model/model_plan.h"
#include "worker/model/thread_pool.h"

namespace selari {

// The rows of a step and what decides random choices.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  // False: dropout passes everything.
  bool training = true;
  int64_t rows = 0;
  // The k-th leaf owns rows [leaf_begin[k], leaf_begin[k + 1]).
  absl::Span<const int64_t> leaf_begin;
  // Place of each leaf's first row in the global batch.
  absl::Span<const int64_t> first_sample;
};

// Kernels, threads and scratch memory, shared by the layers of a Network.
class LayerEnvironment {
 public:
  LayerEnvironment(const Kernels& kernels, int thread_count)
      : kernels_(kernels),
        pool_(thread_count),
        workspaces_(static_cast<std::size_t>(thread_count)) {}

  const Kernels& kernels() const { return kernels_; }
  ThreadPool& pool() { return pool_; }

  // At least `floats` floats for `thread` alone, until its next call.
  float* Workspace(int thread, int64_t floats);

 private:
  const Kernels& kernels_;
  ThreadPool pool_;
  std::vector<std::shared_ptr<FloatBuffer>> workspaces_;
};

struct BackwardArgs {
  // As in the forward pass: (rows, input size) and (rows, output size).
  const float* input = nullptr;
  const float* output = nullptr;
  // Those of the plan, in its order.
  TensorSpans tensors;
  // (rows, output size): the loss by this layer's output before its own fused
  // ReLU; whoever consumes the output has applied the mask already.
  const float* output_grad = nullptr;
  // (rows, input size), overwritten; null when nobody wants it. Apart from
  // every other buffer.
  float* input_grad = nullptr;
  // The input is the output of a fused ReLU: its backward pass is applied to
  // input_grad.
  bool input_is_relu = false;
  // Which sums are wanted. They cover every leaf once, unless input_grad is
  // null.
  absl::Span<const LeafSpan> nodes;
  // (nodes, tensors): where the gradient of a tensor for a node goes,
  // overwritten; zeros for a node without rows.
  absl::Span<float* const> tensor_grads;

  float* tensor_grad(std::size_t node, std::size_t tensor) const {
    return tensor_grads[node * tensors.size() + tensor];
  }
};

class Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const LayerPlan& plan() const { return plan_; }

  // input (rows, input size) to output (rows, output size), which do not
  // overlap.
  virtual void Forward(const StepContext& context, const float* input,
                       TensorSpans tensors, float* output) = 0;

  // May be called again for the same step, with other nodes.
  // REQUIRES: the last Forward was that of this step.
  virtual void Backward(const StepContext& context,
                        const BackwardArgs& args) = 0;

 protected:
  Layer(LayerPlan plan, LayerEnvironment* environment)
      : plan_(std::move(plan)), environment_(*environment) {}

  const LayerPlan plan_;
  LayerEnvironment& environment_;
};

// Room for `floats` floats in `buffer`, which grows and never shrinks.
float* GrowTo(int64_t floats, std::shared_ptr<FloatBuffer>* buffer);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_LAYER_H_
