#include "worker/model/loss_head.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "kernels/kernels.h"

namespace selari {

absl::Status LossHead::CheckLabels(const StepBatch& batch) const {
  const bool classes = LossTakesClasses(loss_);
  const std::size_t labels =
      classes ? batch.labels.size() : batch.targets.size();
  if (static_cast<int64_t>(labels) != batch.rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", batch.step, ": ", batch.rows(), " samples have ",
                     labels, classes ? " labels" : " target values"));
  }
  const int64_t class_count = loss_ == LossKind::kLogistic ? 2 : outputs_;
  for (std::size_t i = 0; classes && i < labels; ++i) {
    if (batch.labels[i] < 0 || batch.labels[i] >= class_count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "step ", batch.step, ": label of sample ", batch.samples[i], " is ",
          batch.labels[i], ", the model has classes 0 to ", class_count - 1));
    }
  }
  return absl::OkStatus();
}

StepLoss LossHead::Evaluate(const StepBatch& batch, const float* outputs,
                            float* grad) {
  row_loss_.resize(static_cast<std::size_t>(batch.rows()));
  environment_.pool().RunRows(batch.rows(),
                              [&](int64_t begin, int64_t end, int) {
                                EvaluateRows(batch, outputs, begin, end, grad);
                              });
  StepLoss result;
  for (std::size_t leaf = 0; leaf < batch.leaves.size(); ++leaf) {
    const int64_t begin = batch.leaf_begin[leaf];
    result.leaf_loss.push_back(environment_.kernels().loss.sum_in_order(
        batch.leaf_begin[leaf + 1] - begin, row_loss_.data() + begin));
  }
  result.correct_count = CountCorrect(batch, outputs);
  return result;
}

void LossHead::EvaluateRows(const StepBatch& batch, const float* outputs,
                            int64_t begin, int64_t end, float* grad) {
  const LossKernels& kernels = environment_.kernels().loss;
  const int64_t rows = end - begin;
  const float scale = 1.0f / static_cast<float>(batch.global_size);
  float* const loss = row_loss_.data() + begin;
  const float* const logits = outputs + begin * outputs_;
  float* const logits_grad =
      grad == nullptr ? nullptr : grad + begin * outputs_;
  switch (loss_) {
    case LossKind::kSoftmaxCrossEntropy:
      kernels.softmax_cross_entropy({rows, outputs_, logits,
                                     batch.labels.data() + begin, scale, loss,
                                     logits_grad});
      return;
    case LossKind::kLogistic:
      kernels.logistic({rows, logits, batch.labels.data() + begin, scale, loss,
                        logits_grad});
      return;
    case LossKind::kMeanSquaredError:
      kernels.squared_error({rows, outputs_, logits,
                             batch.targets.data() + begin * outputs_, scale,
                             loss, logits_grad});
      return;
  }
  SELARI_CHECK(false);
}

int64_t LossHead::CountCorrect(const StepBatch& batch,
                               const float* outputs) const {
  const ArgmaxKernels& kernels = environment_.kernels().argmax;
  switch (loss_) {
    case LossKind::kSoftmaxCrossEntropy:
      return kernels.count_correct(batch.rows(), outputs_, outputs,
                                   batch.labels.data());
    case LossKind::kLogistic:
      return kernels.count_correct_binary(batch.rows(), outputs,
                                          batch.labels.data());
    case LossKind::kMeanSquaredError:
      return 0;
  }
  SELARI_CHECK(false);
}

}  // namespace selari
