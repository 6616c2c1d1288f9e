// Evaluation of a model on a held-out set.

#ifndef SELARI_WORKER_MODEL_EVALUATION_H_
#define SELARI_WORKER_MODEL_EVALUATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/data/dataset.h"
#include "worker/model/leaf_span.h"
#include "worker/model/model.h"

namespace selari {

struct EvaluationResult {
  int64_t sample_count = 0;
  // Mean over the samples.
  double loss = 0.0;
  // Share of samples classified right, in [0, 1]; absent for a regression.
  std::optional<double> accuracy;
  // Area under the receiver operating curve, in [0, 1]; present for a model
  // that tells two classes apart, when the set holds both.
  std::optional<double> auc;
};

// Runs `model` forward over `dataset` in fixed chunks; the model's threads and
// the machine do not change a bit of the result. `tensors` are the model's,
// in order. Ends the step that the model may be in.
// INVALID_ARGUMENT when the loss is not finite (names the chunk's samples), or
// the data does not fit the model.
absl::StatusOr<EvaluationResult> Evaluate(TensorSpans tensors,
                                          const Dataset& dataset, Model* model);

// The probability that a sample of label 1 has a higher score than one of
// label 0, ties counting half. Absent when a class is missing.
// REQUIRES: same sizes, no NaN.
std::optional<double> AreaUnderCurve(absl::Span<const float> scores,
                                     absl::Span<const int32_t> labels);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_EVALUATION_H_
