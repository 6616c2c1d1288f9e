#include "worker/model/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "worker/data/batch.h"

namespace selari {
namespace {

// Fixed, because the losses of a chunk are added before those of the chunks.
// Large enough to fill the threads, small enough that the outputs of a
// convolution stay within some ten megabytes.
constexpr int64_t kChunkSamples = 250;

absl::StatusOr<StepLoss> RunForward(const StepBatch& batch, TensorSpans tensors,
                                    Model* model) {
  SELARI_RETURN_IF_ERROR(model->Start(batch, StepMode::kEvaluation));
  for (int32_t stage = 0; stage < model->stage_count(); ++stage) {
    const TensorRange range = model->StageTensors(stage);
    SELARI_RETURN_IF_ERROR(model->Forward(
        stage,
        tensors.subspan(static_cast<std::size_t>(range.begin),
                        static_cast<std::size_t>(range.end - range.begin))));
  }
  return model->Loss();
}

}  // namespace

absl::StatusOr<EvaluationResult> Evaluate(TensorSpans tensors,
                                          const Dataset& dataset,
                                          Model* model) {
  SELARI_CHECK(dataset.size > 0);
  double loss_sum = 0.0;
  int64_t correct_count = 0;
  std::vector<float> scores;
  StepBatch batch;
  for (int64_t begin = 0; begin < dataset.size; begin += kChunkSamples) {
    const int64_t end = std::min(begin + kChunkSamples, dataset.size);
    GatherRange(dataset, begin, end, &batch);
    SELARI_ASSIGN_OR_RETURN(const StepLoss loss,
                            RunForward(batch, tensors, model));
    for (const double leaf_loss : loss.leaf_loss) {
      loss_sum += leaf_loss;
    }
    if (!std::isfinite(loss_sum)) {
      return absl::InvalidArgumentError(absl::StrCat(
          dataset.source, ": the loss of samples ", begin, " to ", end - 1,
          " is not finite; the training has diverged, try a lower learning "
          "rate"));
    }
    correct_count += loss.correct_count;
    const absl::Span<const float> chunk_scores = model->Scores();
    scores.insert(scores.end(), chunk_scores.begin(), chunk_scores.end());
  }
  const double n = static_cast<double>(dataset.size);
  EvaluationResult result;
  result.sample_count = dataset.size;
  result.loss = loss_sum / n;
  if (dataset.class_count > 0) {
    result.accuracy = static_cast<double>(correct_count) / n;
  }
  if (!scores.empty()) {
    result.auc = AreaUnderCurve(scores, dataset.labels);
  }
  return result;
}

std::optional<double> AreaUnderCurve(absl::Span<const float> scores,
                                     absl::Span<const int32_t> labels) {
  SELARI_CHECK(scores.size() == labels.size());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return scores[a] < scores[b];
  });
  // Twice the count of pairs in the right order, in integers: exact.
  int64_t twice_right = 0;
  int64_t negatives_below = 0;
  int64_t positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    int64_t tied[2] = {0, 0};
    const float score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      ++tied[labels[order[i]] == 1 ? 1 : 0];
    }
    twice_right += tied[1] * (2 * negatives_below + tied[0]);
    negatives_below += tied[0];
    positives += tied[1];
  }
  if (positives == 0 || negatives_below == 0) {
    return std::nullopt;
  }
  return static_cast<double>(twice_right) /
         (2.0 * static_cast<double>(positives) *
          static_cast<double>(negatives_below));
}

}  // namespace selari
