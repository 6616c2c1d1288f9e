#include "worker/model/layers.h"

#include <utility>
#include <variant>

namespace selari {
namespace {

using Make = std::unique_ptr<Layer> (*)(LayerPlan, LayerEnvironment*);

struct MakeOf {
  Make operator()(const DensePlan&) const { return &MakeDenseLayer; }
  Make operator()(const Conv2dPlan&) const { return &MakeConv2dLayer; }
  Make operator()(const MaxPool2dPlan&) const { return &MakeMaxPool2dLayer; }
  Make operator()(const ReluPlan&) const { return &MakeReluLayer; }
  Make operator()(const DropoutPlan&) const { return &MakeDropoutLayer; }
  Make operator()(const LayerNormPlan&) const { return &MakeLayerNormLayer; }
};

}  // namespace

std::unique_ptr<Layer> MakeLayer(LayerPlan plan,
                                 LayerEnvironment* environment) {
  const Make make = std::visit(MakeOf(), plan.kind);
  return make(std::move(plan), environment);
}

}  // namespace selari
