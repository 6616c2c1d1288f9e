// The layers a job's model is built of, each in its own source file.

#ifndef SELARI_WORKER_MODEL_LAYERS_H_
#define SELARI_WORKER_MODEL_LAYERS_H_

#include <memory>

#include "worker/model/layer.h"
#include "worker/model/model_plan.h"

namespace selari {

// The layer that `plan` describes. `environment` is borrowed and must outlive
// the layer.
std::unique_ptr<Layer> MakeLayer(LayerPlan plan, LayerEnvironment* environment);

// REQUIRES: plan.kind is the kind of the name.
std::unique_ptr<Layer> MakeDenseLayer(LayerPlan plan,
                                      LayerEnvironment* environment);
std::unique_ptr<Layer> MakeConv2dLayer(LayerPlan plan,
                                       LayerEnvironment* environment);
std::unique_ptr<Layer> MakeMaxPool2dLayer(LayerPlan plan,
                                          LayerEnvironment* environment);
std::unique_ptr<Layer> MakeReluLayer(LayerPlan plan,
                                     LayerEnvironment* environment);
std::unique_ptr<Layer> MakeDropoutLayer(LayerPlan plan,
                                        LayerEnvironment* environment);
std::unique_ptr<Layer> MakeLayerNormLayer(LayerPlan plan,
                                          LayerEnvironment* environment);

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_LAYERS_H_
