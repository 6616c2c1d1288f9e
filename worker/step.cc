#include "worker/step.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/isa.h"
#include "common/status.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"

namespace selari {
namespace {

int64_t Microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration)
      .count();
}

}  // namespace

StepLoop::StepLoop(const Parts& parts, const StepLoopOptions& options)
    : parts_(parts),
      options_(options),
      all_finite_(ChooseOptimizerKernels(DetectIsaLevel()).all_finite),
      tensors_(parts.model->tensors().size()) {
  SELARI_CHECK(options.stride >= 1 && options.first_step >= 0);
  const ReductionTree tree(options.leaf_count);
  for (const TreeNode node :
       options.nodes.empty() ? tree.Cover(options.leaves) : options.nodes) {
    const LeafRange leaves = tree.Leaves(node);
    nodes_.push_back(node);
    node_leaves_.push_back({leaves.begin - options.leaves.begin,
                            leaves.end - options.leaves.begin});
  }
  for (const ModelTensor& tensor : parts.model->tensors()) {
    gradient_pools_.push_back(std::make_unique<BufferPool>(
        tensor.size,
        [this](int64_t floats) { return parts_.client->NewBuffer(floats); }));
  }
}

absl::Status StepLoop::Run() {
  BatchPlan plan;
  plan.first_step = options_.first_step;
  plan.end_step = nodes_.empty() ? plan.first_step : options_.end_step;
  plan.stride = options_.stride;
  for (int64_t leaf = options_.leaves.begin; leaf < options_.leaves.end;
       ++leaf) {
    plan.leaves.push_back(leaf);
  }
  Prefetcher prefetcher(parts_.training, parts_.sampler, std::move(plan),
                        options_.prefetcher);
  const TensorRange all = {0, static_cast<int32_t>(tensors_.size())};
  if (!nodes_.empty() || options_.evaluate_at_end) {
    RequestPulls(all, ClockOf(options_.first_step));
  }
  while (std::unique_ptr<StepBatch> batch = prefetcher.Next()) {
    if (EvaluationIsDue(batch->step)) {
      SELARI_RETURN_IF_ERROR(EvaluateAt(batch->step));
    }
    step_begin_ = std::chrono::steady_clock::now();
    stats_begin_ = parts_.client->Stats();
    SELARI_RETURN_IF_ERROR(Forward(*batch));
    SELARI_ASSIGN_OR_RETURN(const StepLoss loss, CheckedLoss(*batch));
    SELARI_RETURN_IF_ERROR(Backward(*batch));
    SELARI_RETURN_IF_ERROR(Advance(*batch, loss));
    prefetcher.Recycle(std::move(batch));
  }
  SELARI_RETURN_IF_ERROR(parts_.client->Flush());
  return options_.evaluate_at_end ? EvaluateAt(options_.end_step)
                                  : absl::OkStatus();
}

bool StepLoop::EvaluationIsDue(int64_t step) const {
  const int64_t every = options_.evaluate_every_steps;
  return every > 0 && step > 0 &&
         step / every != (step - options_.stride) / every;
}

void StepLoop::RequestPulls(TensorRange tensors, int64_t clock) {
  parts_.client->RequestPulls(tensors.begin, tensors.end, clock);
}

absl::Status StepLoop::WaitForTensors(TensorRange tensors) {
  for (int32_t tensor = tensors.begin; tensor < tensors.end; ++tensor) {
    SELARI_ASSIGN_OR_RETURN(tensors_[static_cast<std::size_t>(tensor)],
                            parts_.client->WaitForTensor(tensor));
  }
  return absl::OkStatus();
}

TensorSpans StepLoop::SpansOf(TensorRange tensors) const {
  return absl::MakeConstSpan(tensors_).subspan(
      static_cast<std::size_t>(tensors.begin),
      static_cast<std::size_t>(tensors.end - tensors.begin));
}

absl::Status StepLoop::EvaluateAt(int64_t step) {
  SELARI_CHECK(parts_.held_out != nullptr);
  SELARI_RETURN_IF_ERROR(
      WaitForTensors({0, static_cast<int32_t>(tensors_.size())}));
  SELARI_ASSIGN_OR_RETURN(const EvaluationResult result,
                          Evaluate(tensors_, *parts_.held_out, parts_.model));
  parts_.observer->OnEvaluation(step, result);
  return absl::OkStatus();
}

absl::Status StepLoop::Forward(const StepBatch& batch) {
  Model* const model = parts_.model;
  SELARI_RETURN_IF_ERROR(model->Start(batch, StepMode::kTraining));
  for (int32_t stage = 0; stage < model->stage_count(); ++stage) {
    const TensorRange range = model->StageTensors(stage);
    SELARI_RETURN_IF_ERROR(WaitForTensors(range));
    SELARI_RETURN_IF_ERROR(model->Forward(stage, SpansOf(range)));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepLoss> StepLoop::CheckedLoss(const StepBatch& batch) {
  SELARI_ASSIGN_OR_RETURN(StepLoss loss, parts_.model->Loss());
  for (std::size_t k = 0; k < loss.leaf_loss.size(); ++k) {
    if (!std::isfinite(loss.leaf_loss[k])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "step ", batch.step, ": the loss of leaf ", batch.leaves[k], " is ",
          loss.leaf_loss[k],
          "; the training has diverged, try a lower learning rate or "
          "gradient clipping"));
    }
  }
  return loss;
}

absl::Status StepLoop::Backward(const StepBatch& batch) {
  for (int32_t stage = parts_.model->stage_count() - 1; stage >= 0; --stage) {
    SELARI_RETURN_IF_ERROR(BackwardStage(batch, stage));
    const bool last = batch.step + options_.stride >= options_.end_step;
    if (!last || options_.evaluate_at_end) {
      RequestPulls(parts_.model->StageTensors(stage), ClockOf(batch.step) + 1);
    }
  }
  return absl::OkStatus();
}

absl::Status StepLoop::BackwardStage(const StepBatch& batch, int32_t stage) {
  const TensorRange range = parts_.model->StageTensors(stage);
  std::vector<std::shared_ptr<FloatBuffer>> gradients;  // (nodes, tensors)
  std::vector<float*> memory;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (int32_t tensor = range.begin; tensor < range.end; ++tensor) {
      gradients.push_back(
          gradient_pools_[static_cast<std::size_t>(tensor)]->Take());
      memory.push_back(gradients.back()->data());
    }
  }
  SELARI_RETURN_IF_ERROR(
      parts_.model->Backward(stage, SpansOf(range), node_leaves_, memory));
  std::size_t next = 0;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (int32_t tensor = range.begin; tensor < range.end; ++tensor) {
      std::shared_ptr<FloatBuffer> gradient = std::move(gradients[next++]);
      if (!all_finite_(gradient->data(), gradient->size())) {
        return NotFinite(batch, stage, tensor, node_leaves_[node]);
      }
      SELARI_RETURN_IF_ERROR(parts_.client->Push(
          ClockOf(batch.step), nodes_[node], tensor, std::move(gradient)));
    }
  }
  return absl::OkStatus();
}

absl::Status StepLoop::Advance(const StepBatch& batch, const StepLoss& loss) {
  const ClientStats stats = parts_.client->Stats();
  const auto now = std::chrono::steady_clock::now();
  const int64_t step_us = Microseconds(now - step_begin_);
  StepReport report;
  report.step = batch.step;
  for (const double leaf_loss : loss.leaf_loss) {
    report.loss_sum += leaf_loss;
  }
  report.correct_count = loss.correct_count;
  report.sample_count = batch.rows();
  report.pull_wait_us = stats.pull_wait_us - stats_begin_.pull_wait_us;
  report.push_wait_us = stats.push_wait_us - stats_begin_.push_wait_us;
  report.compute_us = step_us - report.pull_wait_us - report.push_wait_us;
  report.elapsed_us = Microseconds(now - last_end_.value_or(step_begin_));
  last_end_ = now;
  return parts_.observer->OnStep(report);
}

absl::Status StepLoop::NotFinite(const StepBatch& batch, int32_t stage,
                                 int32_t tensor, LeafSpan node) {
  const TensorRange range = parts_.model->StageTensors(stage);
  std::vector<std::vector<float>> gradients;
  std::vector<float*> memory;
  for (int32_t t = range.begin; t < range.end; ++t) {
    gradients.emplace_back(tensors_[static_cast<std::size_t>(t)].size());
    memory.push_back(gradients.back().data());
  }
  const std::vector<float>& wanted =
      gradients[static_cast<std::size_t>(tensor - range.begin)];
  // When no leaf is to blame alone, the sum has overflowed: name them all.
  std::string leaves = absl::StrCat(
      "the sum of leaves ", batch.leaves[static_cast<std::size_t>(node.begin)],
      " to ", batch.leaves[static_cast<std::size_t>(node.end - 1)]);
  for (int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    const absl::Status status =
        parts_.model->LeafGradient(stage, SpansOf(range), leaf, memory);
    if (status.ok() &&
        !all_finite_(wanted.data(), static_cast<int64_t>(wanted.size()))) {
      leaves =
          absl::StrCat("leaf ", batch.leaves[static_cast<std::size_t>(leaf)]);
      break;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "step ", batch.step, ": the gradient of ",
      parts_.model->tensors()[static_cast<std::size_t>(tensor)].name,
      " is not finite in ", leaves,
      "; the training has diverged, try a lower learning rate or gradient "
      "clipping"));
}

}  // namespace selari
