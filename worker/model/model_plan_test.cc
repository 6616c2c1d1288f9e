#include "worker/model/model_plan.h"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ModelPlan> Plan(absl::string_view text,
                               const std::vector<int64_t>& feature_shape = {28,
                                                                            28},
                               int64_t class_count = 10) {
  v1::Model model;
  model.set_loss(v1::LOSS_SOFTMAX_CROSS_ENTROPY);
  EXPECT_TRUE(
      google::protobuf::TextFormat::MergeFromString(std::string(text), &model));
  return PlanModel(model, feature_shape, class_count);
}

std::string Message(absl::string_view text,
                    const std::vector<int64_t>& feature_shape = {28, 28}) {
  return std::string(Plan(text, feature_shape).status().message());
}

TEST(ModelPlanTest, PlansAConvolutionalNetwork) {
  const auto plan = Plan(
      "layers { conv2d { filters: 8 kernel_size: 3 same_padding: true } }"
      "layers { relu {} } layers { max_pool2d { window: 2 } }"
      "layers { flatten {} } layers { dropout { rate: 0.5 } }"
      "layers { dense { units: 10 } }");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->layers.size(), 4u);
  EXPECT_THAT(plan->layers[0].output_shape, ElementsAre(28, 28, 8));
  EXPECT_TRUE(std::get<Conv2dPlan>(plan->layers[0].kind).relu);
  EXPECT_THAT(plan->layers[1].output_shape, ElementsAre(14, 14, 8));
  EXPECT_THAT(plan->layers[2].input_shape, ElementsAre(14 * 14 * 8));
  EXPECT_EQ(std::get<DropoutPlan>(plan->layers[2].kind).layer_index, 4u);
  EXPECT_EQ(plan->outputs, 10);
}

TEST(ModelPlanTest, TensorsHaveNamesShapesAndInitialValues) {
  const auto plan = Plan(
      "layers { dense { units: 256 } } layers { relu {} }"
      "layers { name: 'norm' layer_norm {} }"
      "layers { dense { units: 10 no_bias: true } }");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<v1::TensorSpec> specs = TensorSpecs(*plan);
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[0].name(), "dense1/weight");
  EXPECT_THAT(specs[0].shape(), ElementsAre(784, 256));
  // He for the layer behind which a ReLU stands, Glorot for the other.
  EXPECT_FLOAT_EQ(specs[0].initializer().uniform_limit(),
                  std::sqrt(6.0f / 784));
  EXPECT_FALSE(specs[0].skip_weight_decay());
  EXPECT_EQ(specs[1].name(), "dense1/bias");
  EXPECT_EQ(specs[1].initializer().constant(), 0.0f);
  EXPECT_TRUE(specs[1].skip_weight_decay());
  EXPECT_EQ(specs[2].name(), "norm/gain");
  EXPECT_EQ(specs[2].initializer().constant(), 1.0f);
  EXPECT_EQ(specs[4].name(), "dense2/weight");
  EXPECT_FLOAT_EQ(specs[4].initializer().uniform_limit(),
                  std::sqrt(6.0f / 266));
}

TEST(ModelPlanTest, AReluThatCannotBeFusedIsALayer) {
  const auto plan = Plan(
      "layers { relu {} } layers { dense { units: 9 } }"
      "layers { layer_norm {} } layers { relu {} }"
      "layers { dense { units: 10 } }");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->layers.size(), 5u);
  EXPECT_TRUE(std::holds_alternative<ReluPlan>(plan->layers[3].kind));
}

TEST(ModelPlanTest, NamesTheLayerWhoseInputDoesNotFit) {
  EXPECT_THAT(
      Message("layers { conv2d { filters: 8 kernel_size: 3 } }", {784}),
      HasSubstr("layer conv2d1: its input has shape (784), it needs (height, "
                "width, channels)"));
  EXPECT_THAT(
      Message("layers { conv2d { filters: 8 kernel_size: 5 } }", {4, 4, 1}),
      HasSubstr("kernel_size 5 does not fit its input of shape (4, 4, 1)"));
  EXPECT_THAT(Message("layers { max_pool2d { window: 5 } }", {4, 4}),
              HasSubstr("layer max_pool2d1: window 5 does not fit"));
}

TEST(ModelPlanTest, NamesSettingsOutOfRange) {
  EXPECT_THAT(Message("layers { dense {} }"),
              HasSubstr("layer dense1: units is 0, must be in [1, 16777216]"));
  EXPECT_THAT(Message("layers { conv2d { filters: 8 } }"),
              HasSubstr("kernel_size is 0"));
  EXPECT_THAT(Message("layers { name: 'drop' dropout { rate: 1 } }"),
              HasSubstr("layer drop: rate is 1, must be in [0, 1)"));
  EXPECT_THAT(Message("layers { layer_norm { epsilon: -1 } }"),
              HasSubstr("epsilon is -1"));
  EXPECT_THAT(Message("layers { }"), HasSubstr("no kind is set"));
}

TEST(ModelPlanTest, TheOutputMustFitTheLoss) {
  EXPECT_THAT(Message("layers { dense { units: 12 } }"),
              HasSubstr("layer dense1: the last layer gives 12 outputs, the "
                        "loss needs 10"));
  EXPECT_THAT(std::string(Plan("loss: LOSS_LOGISTIC layers { dense { units: "
                               "1 } }",
                               {4}, 3)
                              .status()
                              .message()),
              HasSubstr("needs labels 0 and 1, the data has 3 classes"));
  EXPECT_TRUE(Plan("loss: LOSS_MEAN_SQUARED_ERROR layers { dense { units: 1 "
                   "} }",
                   {4}, 0)
                  .ok());
}

TEST(ModelPlanTest, RefusesNamesAndModelsThatMakeNoSense) {
  EXPECT_THAT(Message(""), HasSubstr("model.layers is empty"));
  EXPECT_THAT(Message("layers { name: 'a' relu {} } layers { name: 'a' "
                      "dense { units: 10 } }"),
              HasSubstr("two layers are named 'a'"));
  EXPECT_THAT(Message("layers { name: 'a/b' dense { units: 10 } }"),
              HasSubstr("layer name 'a/b'"));
  EXPECT_THAT(Message("loss: LOSS_UNSPECIFIED layers { dense { units: 10 } }"),
              HasSubstr("model.loss is not set"));
}

}  // namespace
}  // namespace selari
