// ModelPlan: the model section of a job, worked out: every layer with its
// shapes and tensors, defaults filled in, everything checked. The cli takes
// the job's tensors from it, Network its layers.
//
// Layers that compute nothing of their own are gone: Flatten only changes the
// shape, and a ReLU right behind a dense or convolutional layer is made in
// that layer's own pass (same bits, one pass over memory less).
//
// Plain values; functions are pure.

#ifndef SELARI_WORKER_MODEL_MODEL_PLAN_H_
#define SELARI_WORKER_MODEL_MODEL_PLAN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace selari {

namespace v1 {
class Model;
class TensorSpec;
}  // namespace v1

// Shape of one sample, each dimension >= 1.
using SampleShape = std::vector<int64_t>;

// How a tensor gets its first values; see v1::Initializer.
struct InitialValues {
  enum class Kind { kConstant, kUniform };
  Kind kind = Kind::kConstant;
  // The constant, or the limit of the uniform distribution.
  float value = 0.0f;
};

struct TensorPlan {
  // "LAYER/weight", "LAYER/bias" or "LAYER/gain".
  std::string name;
  std::vector<int64_t> shape;
  // Product of shape.
  int64_t size = 0;
  InitialValues initial;
  // Biases and normalisation take no weight decay.
  bool skip_weight_decay = false;
};

struct DensePlan {
  int64_t inputs = 0;
  int64_t units = 0;
  bool bias = true;
  bool relu = false;
};

// Input (in_height, in_width, in_channels); same for the output.
struct Conv2dPlan {
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t in_channels = 0;
  int64_t filters = 0;
  int64_t kernel_size = 0;
  int64_t stride = 1;
  bool same_padding = false;
  bool bias = true;
  bool relu = false;
};

struct MaxPool2dPlan {
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t channels = 0;
  int64_t window = 0;
  int64_t stride = 0;
};

struct ReluPlan {};

struct DropoutPlan {
  // In [0, 1).
  float rate = 0.0f;
  // Place of the layer in the job's list, from 0: part of what decides which
  // elements are dropped.
  uint64_t layer_index = 0;
};

// Over the last dimension, `dim` elements.
struct LayerNormPlan {
  int64_t dim = 0;
  float epsilon = 1e-5f;
};

using LayerKindPlan = std::variant<DensePlan, Conv2dPlan, MaxPool2dPlan,
                                   ReluPlan, DropoutPlan, LayerNormPlan>;

struct LayerPlan {
  std::string name;
  LayerKindPlan kind;
  SampleShape input_shape;
  SampleShape output_shape;
  // In the order weight, bias (or gain, bias); may be empty.
  std::vector<TensorPlan> tensors;

  // Elements of one sample.
  int64_t input_size() const;
  int64_t output_size() const;
};

enum class LossKind { kSoftmaxCrossEntropy, kLogistic, kMeanSquaredError };

struct ModelPlan {
  std::vector<LayerPlan> layers;
  LossKind loss = LossKind::kSoftmaxCrossEntropy;
  // Elements of a sample that enter the first layer.
  int64_t input_size = 0;
  // Outputs of the last layer: classes, or 1.
  int64_t outputs = 0;
};

// True when the loss wants class numbers, false when it wants target values.
bool LossTakesClasses(LossKind loss);

// The model's loss. INVALID_ARGUMENT when it is not set.
absl::StatusOr<LossKind> LossOf(const v1::Model& model);

// Plans `model` for samples of `feature_shape` and `class_count` classes (not
// used by a regression). A sample of shape (height, width) counts as one
// channel for convolution and pooling.
// INVALID_ARGUMENT names the layer and the numbers: a setting out of range, a
// shape that a layer cannot take, a name used twice, an output that does not
// fit the loss, no layers.
absl::StatusOr<ModelPlan> PlanModel(const v1::Model& model,
                                    absl::Span<const int64_t> feature_shape,
                                    int64_t class_count);

// The plan's tensors in the order of its layers: the order in which every
// process numbers them.
std::vector<v1::TensorSpec> TensorSpecs(const ModelPlan& plan);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_MODEL_PLAN_H_
