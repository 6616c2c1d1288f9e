#include "worker/model/model_plan.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/printable.h"
#include "common/status.h"
#include "kernels/conv2d.h"
#include "kernels/max_pool2d.h"
#include "selari/v1/job.pb.h"

namespace selari {
namespace {

constexpr int64_t kUnitsMax = int64_t{1} << 24;
constexpr int64_t kFiltersMax = 65536;
constexpr int64_t kWindowMax = 64;
// Samples larger than this cannot be a batch in memory; keeps every product
// of dimensions inside 64 bits.
constexpr int64_t kSampleSizeMax = int64_t{1} << 31;
constexpr float kDefaultEpsilon = 1e-5f;

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), ")");
}

int64_t SizeOf(absl::Span<const int64_t> shape) {
  int64_t size = 1;
  for (const int64_t dim : shape) {
    size *= dim;
  }
  return size;
}

absl::Status LayerError(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("layer ", name, ": ", what));
}

absl::Status CheckRange(absl::string_view name, absl::string_view field,
                        int64_t value, int64_t max) {
  if (value >= 1 && value <= max) {
    return absl::OkStatus();
  }
  return LayerError(
      name, absl::StrCat(field, " is ", value, ", must be in [1, ", max, "]"));
}

TensorPlan Tensor(const std::string& layer, absl::string_view part,
                  std::vector<int64_t> shape, InitialValues initial) {
  TensorPlan tensor;
  tensor.name = absl::StrCat(layer, "/", part);
  tensor.size = SizeOf(shape);
  tensor.shape = std::move(shape);
  tensor.initial = initial;
  tensor.skip_weight_decay = part != "weight";
  return tensor;
}

// He et al., 2015 for a layer that feeds a ReLU, Glorot and Bengio, 2010 for
// others: both keep the variance of activations from layer to layer.
InitialValues WeightInitial(int64_t inputs, int64_t outputs, bool relu) {
  const double fan = static_cast<double>(relu ? inputs : inputs + outputs);
  return {InitialValues::Kind::kUniform,
          static_cast<float>(std::sqrt(6.0 / fan))};
}

// Height, width and channels of an image, whichever way it is written.
struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

absl::StatusOr<ImageShape> ImageOf(const std::string& name,
                                   const SampleShape& shape) {
  if (shape.size() != 2 && shape.size() != 3) {
    return LayerError(name,
                      absl::StrCat("its input has shape ", ShapeText(shape),
                                   ", it needs (height, width, channels); set "
                                   "data.feature_shape"));
  }
  return ImageShape{shape[0], shape[1], shape.size() == 3 ? shape[2] : 1};
}

absl::Status PlanDense(const v1::Dense& config, LayerPlan* layer) {
  SELARI_RETURN_IF_ERROR(
      CheckRange(layer->name, "units", config.units(), kUnitsMax));
  DensePlan dense;
  dense.inputs = SizeOf(layer->input_shape);
  dense.units = config.units();
  dense.bias = !config.no_bias();
  layer->output_shape = {dense.units};
  layer->tensors.push_back(
      Tensor(layer->name, "weight", {dense.inputs, dense.units},
             WeightInitial(dense.inputs, dense.units, false)));
  if (dense.bias) {
    layer->tensors.push_back(Tensor(layer->name, "bias", {dense.units}, {}));
  }
  layer->kind = dense;
  return absl::OkStatus();
}

absl::Status PlanConv2d(const v1::Conv2d& config, LayerPlan* layer) {
  const std::string& name = layer->name;
  const int64_t stride = config.stride() == 0 ? 1 : config.stride();
  SELARI_RETURN_IF_ERROR(
      CheckRange(name, "filters", config.filters(), kFiltersMax));
  SELARI_RETURN_IF_ERROR(
      CheckRange(name, "kernel_size", config.kernel_size(), kWindowMax));
  SELARI_RETURN_IF_ERROR(CheckRange(name, "stride", stride, kWindowMax));
  SELARI_ASSIGN_OR_RETURN(const ImageShape image,
                          ImageOf(name, layer->input_shape));
  Conv2dPlan conv;
  conv.in_height = image.height;
  conv.in_width = image.width;
  conv.in_channels = image.channels;
  conv.filters = config.filters();
  conv.kernel_size = config.kernel_size();
  conv.stride = stride;
  conv.same_padding = config.same_padding();
  conv.bias = !config.no_bias();
  const Conv2DShape shape = MakeConv2DShape(
      1, image.height, image.width, image.channels, conv.filters,
      conv.kernel_size, stride, conv.same_padding);
  if (shape.out_height < 1 || shape.out_width < 1) {
    return LayerError(name, absl::StrCat("kernel_size ", conv.kernel_size,
                                         " does not fit its input of shape ",
                                         ShapeText(layer->input_shape)));
  }
  layer->output_shape = {shape.out_height, shape.out_width, conv.filters};
  const int64_t window = conv.kernel_size * conv.kernel_size;
  layer->tensors.push_back(Tensor(
      name, "weight",
      {conv.kernel_size, conv.kernel_size, image.channels, conv.filters},
      WeightInitial(window * image.channels, window * conv.filters, false)));
  if (conv.bias) {
    layer->tensors.push_back(Tensor(name, "bias", {conv.filters}, {}));
  }
  layer->kind = conv;
  return absl::OkStatus();
}

absl::Status PlanMaxPool2d(const v1::MaxPool2d& config, LayerPlan* layer) {
  const std::string& name = layer->name;
  const int64_t stride =
      config.stride() == 0 ? config.window() : config.stride();
  SELARI_RETURN_IF_ERROR(
      CheckRange(name, "window", config.window(), kWindowMax));
  SELARI_RETURN_IF_ERROR(CheckRange(name, "stride", stride, kWindowMax));
  SELARI_ASSIGN_OR_RETURN(const ImageShape image,
                          ImageOf(name, layer->input_shape));
  MaxPool2dPlan pool;
  pool.in_height = image.height;
  pool.in_width = image.width;
  pool.channels = image.channels;
  pool.window = config.window();
  pool.stride = stride;
  const MaxPool2DShape shape = MakeMaxPool2DShape(
      1, image.height, image.width, image.channels, pool.window, pool.stride);
  if (shape.out_height < 1 || shape.out_width < 1) {
    return LayerError(name, absl::StrCat("window ", pool.window,
                                         " does not fit its input of shape ",
                                         ShapeText(layer->input_shape)));
  }
  layer->output_shape = {shape.out_height, shape.out_width, image.channels};
  layer->kind = pool;
  return absl::OkStatus();
}

absl::Status PlanDropout(const v1::Dropout& config, uint64_t layer_index,
                         LayerPlan* layer) {
  if (!(config.rate() >= 0.0f && config.rate() < 1.0f)) {
    return LayerError(layer->name, absl::StrCat("rate is ", config.rate(),
                                                ", must be in [0, 1)"));
  }
  layer->kind = DropoutPlan{config.rate(), layer_index};
  return absl::OkStatus();
}

absl::Status PlanLayerNorm(const v1::LayerNorm& config, LayerPlan* layer) {
  LayerNormPlan norm;
  norm.dim = layer->input_shape.back();
  norm.epsilon = config.epsilon() == 0.0f ? kDefaultEpsilon : config.epsilon();
  if (!(norm.epsilon > 0.0f) || !std::isfinite(norm.epsilon)) {
    return LayerError(layer->name, absl::StrCat("epsilon is ", norm.epsilon,
                                                ", must be > 0"));
  }
  layer->tensors.push_back(Tensor(layer->name, "gain", {norm.dim},
                                  {InitialValues::Kind::kConstant, 1.0f}));
  layer->tensors.push_back(Tensor(layer->name, "bias", {norm.dim}, {}));
  layer->kind = norm;
  return absl::OkStatus();
}

// Fills in everything of `layer` but its name and input shape.
absl::Status PlanLayer(const v1::Layer& config, uint64_t layer_index,
                       LayerPlan* layer) {
  layer->output_shape = layer->input_shape;
  switch (config.kind_case()) {
    case v1::Layer::kDense:
      return PlanDense(config.dense(), layer);
    case v1::Layer::kConv2D:
      return PlanConv2d(config.conv2d(), layer);
    case v1::Layer::kMaxPool2D:
      return PlanMaxPool2d(config.max_pool2d(), layer);
    case v1::Layer::kDropout:
      return PlanDropout(config.dropout(), layer_index, layer);
    case v1::Layer::kLayerNorm:
      return PlanLayerNorm(config.layer_norm(), layer);
    case v1::Layer::kRelu:
      layer->kind = ReluPlan{};
      return absl::OkStatus();
    case v1::Layer::kFlatten:
      layer->output_shape = {SizeOf(layer->input_shape)};
      return absl::OkStatus();
    case v1::Layer::KIND_NOT_SET:
      break;
  }
  return LayerError(layer->name,
                    "no kind is set; use dense, relu, conv2d, max_pool2d, "
                    "flatten, dropout or layer_norm");
}

absl::string_view KindName(const v1::Layer& config) {
  switch (config.kind_case()) {
    case v1::Layer::kDense:
      return "dense";
    case v1::Layer::kRelu:
      return "relu";
    case v1::Layer::kConv2D:
      return "conv2d";
    case v1::Layer::kMaxPool2D:
      return "max_pool2d";
    case v1::Layer::kFlatten:
      return "flatten";
    case v1::Layer::kDropout:
      return "dropout";
    case v1::Layer::kLayerNorm:
      return "layer_norm";
    case v1::Layer::KIND_NOT_SET:
      break;
  }
  return "layer";
}

// Hands out the names: the job's own, or kind and count within its kind.
class LayerNames {
 public:
  absl::StatusOr<std::string> Next(const v1::Layer& config) {
    const std::string kind(KindName(config));
    const int position = ++counts_[kind];
    std::string name =
        config.name().empty() ? absl::StrCat(kind, position) : config.name();
    const std::size_t bad = name.find_first_not_of(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");
    if (bad != std::string::npos || name.size() > kNameBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer name '", Excerpt(name), "' must be at most ",
                       kNameBytesMax, " characters of [A-Za-z0-9_.-]"));
    }
    if (!used_.insert(name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two layers are named '", name, "'"));
    }
    return name;
  }

 private:
  // With "/weight" behind it a tensor's name must stay within 256.
  static constexpr std::size_t kNameBytesMax = 240;
  std::map<std::string, int> counts_;
  std::set<std::string> used_;
};

// Makes the ReLU part of the layer before it. False when that layer cannot.
bool FuseRelu(LayerPlan* previous) {
  if (DensePlan* const dense = std::get_if<DensePlan>(&previous->kind)) {
    dense->relu = true;
    previous->tensors[0].initial =
        WeightInitial(dense->inputs, dense->units, true);
    return true;
  }
  if (Conv2dPlan* const conv = std::get_if<Conv2dPlan>(&previous->kind)) {
    conv->relu = true;
    previous->tensors[0].initial =
        WeightInitial(conv->kernel_size * conv->kernel_size * conv->in_channels,
                      conv->filters, true);
    return true;
  }
  return false;
}

absl::Status CheckOutput(const ModelPlan& plan, absl::string_view last_layer,
                         int64_t class_count) {
  const int64_t wanted =
      plan.loss == LossKind::kSoftmaxCrossEntropy ? class_count : 1;
  if (plan.loss == LossKind::kLogistic && class_count > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("LOSS_LOGISTIC needs labels 0 and 1, the data has ",
                     class_count, " classes"));
  }
  if (plan.outputs == wanted) {
    return absl::OkStatus();
  }
  return LayerError(last_layer,
                    absl::StrCat("the last layer gives ", plan.outputs,
                                 " outputs, the loss needs ", wanted,
                                 plan.loss == LossKind::kSoftmaxCrossEntropy
                                     ? absl::StrCat(" (one per class, and "
                                                    "labels count from 0: the "
                                                    "largest is ",
                                                    class_count - 1, ")")
                                     : ""));
}

}  // namespace

int64_t LayerPlan::input_size() const { return SizeOf(input_shape); }
int64_t LayerPlan::output_size() const { return SizeOf(output_shape); }

bool LossTakesClasses(LossKind loss) {
  return loss != LossKind::kMeanSquaredError;
}

absl::StatusOr<LossKind> LossOf(const v1::Model& model) {
  switch (model.loss()) {
    case v1::LOSS_SOFTMAX_CROSS_ENTROPY:
      return LossKind::kSoftmaxCrossEntropy;
    case v1::LOSS_LOGISTIC:
      return LossKind::kLogistic;
    case v1::LOSS_MEAN_SQUARED_ERROR:
      return LossKind::kMeanSquaredError;
    default:
      return absl::InvalidArgumentError(
          "model.loss is not set; use LOSS_SOFTMAX_CROSS_ENTROPY, "
          "LOSS_LOGISTIC or LOSS_MEAN_SQUARED_ERROR");
  }
}

absl::StatusOr<ModelPlan> PlanModel(const v1::Model& model,
                                    absl::Span<const int64_t> feature_shape,
                                    int64_t class_count) {
  ModelPlan plan;
  SELARI_ASSIGN_OR_RETURN(plan.loss, LossOf(model));
  if (model.layers().empty()) {
    return absl::InvalidArgumentError("model.layers is empty");
  }
  SELARI_CHECK(!feature_shape.empty());
  SampleShape shape(feature_shape.begin(), feature_shape.end());
  plan.input_size = SizeOf(shape);
  LayerNames names;
  std::string name;
  for (int i = 0; i < model.layers_size(); ++i) {
    const v1::Layer& config = model.layers(i);
    SELARI_ASSIGN_OR_RETURN(name, names.Next(config));
    LayerPlan layer;
    layer.name = name;
    layer.input_shape = std::move(shape);
    SELARI_RETURN_IF_ERROR(PlanLayer(config, static_cast<uint64_t>(i), &layer));
    shape = layer.output_shape;
    if (SizeOf(shape) > kSampleSizeMax) {
      return LayerError(name,
                        absl::StrCat("its output of shape ", ShapeText(shape),
                                     " is too large for one sample"));
    }
    const bool fused = config.has_relu() && !plan.layers.empty() &&
                       FuseRelu(&plan.layers.back());
    if (!fused && !config.has_flatten()) {
      plan.layers.push_back(std::move(layer));
    }
  }
  plan.outputs = SizeOf(shape);
  SELARI_RETURN_IF_ERROR(CheckOutput(plan, name, class_count));
  if (plan.layers.empty()) {
    return absl::InvalidArgumentError(
        "model.layers holds only flatten; it needs a layer that computes");
  }
  return plan;
}

std::vector<v1::TensorSpec> TensorSpecs(const ModelPlan& plan) {
  std::vector<v1::TensorSpec> specs;
  for (const LayerPlan& layer : plan.layers) {
    for (const TensorPlan& tensor : layer.tensors) {
      v1::TensorSpec spec;
      spec.set_name(tensor.name);
      spec.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
      spec.set_data_type(v1::DATA_TYPE_FLOAT32);
      if (tensor.initial.kind == InitialValues::Kind::kUniform) {
        spec.mutable_initializer()->set_uniform_limit(tensor.initial.value);
      } else {
        spec.mutable_initializer()->set_constant(tensor.initial.value);
      }
      spec.set_skip_weight_decay(tensor.skip_weight_decay);
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

}  // namespace selari
