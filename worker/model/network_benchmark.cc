// A whole training step of the two example models, without any client: what
// the step loop spends on computing. Arguments: leaves held by this worker of
// the 8 that a batch of 128 is cut into, and threads.
//
// `bazel run //worker/model:network_benchmark` measures; as a test the
// same binary runs each case once, so that it cannot rot.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/float_buffer.h"
#include "common/isa.h"
#include "common/random.h"
#include "google/protobuf/text_format.h"
#include "selari/v1/job.pb.h"
#include "worker/model/model_plan.h"
#include "worker/model/network.h"

namespace selari {
namespace {

constexpr int64_t kBatchRows = 128;
constexpr int64_t kLeaves = 8;
constexpr int64_t kClasses = 10;

constexpr absl::string_view kMlp =
    "layers { dense { units: 256 } } layers { relu {} }"
    "layers { dense { units: 128 } } layers { relu {} }"
    "layers { dense { units: 10 } } loss: LOSS_SOFTMAX_CROSS_ENTROPY";

constexpr absl::string_view kCnn =
    "layers { conv2d { filters: 16 kernel_size: 3 same_padding: true } }"
    "layers { relu {} } layers { max_pool2d { window: 2 } }"
    "layers { conv2d { filters: 32 kernel_size: 3 same_padding: true } }"
    "layers { relu {} } layers { max_pool2d { window: 2 } }"
    "layers { dropout { rate: 0.25 } }"
    "layers { dense { units: 128 } } layers { relu {} }"
    "layers { layer_norm {} }"
    "layers { dense { units: 10 } } loss: LOSS_SOFTMAX_CROSS_ENTROPY";

ModelPlan PlanOf(absl::string_view text) {
  v1::Model model;
  SELARI_CHECK(
      google::protobuf::TextFormat::ParseFromString(std::string(text), &model));
  absl::StatusOr<ModelPlan> plan = PlanModel(model, {28, 28, 1}, kClasses);
  SELARI_CHECK(plan.ok());
  return *plan;
}

std::shared_ptr<FloatBuffer> RandomFloats(uint64_t part, int64_t size,
                                          float stddev) {
  std::shared_ptr<FloatBuffer> floats = FloatBuffer::Allocate(size);
  FillNormal(MakeRandomKey(1, RandomStream::kTest, part), 0, 0.0f, stddev,
             {floats->data(), static_cast<std::size_t>(size)});
  return floats;
}

StepBatch BatchOf(int64_t leaves, int64_t input_size) {
  StepBatch batch;
  batch.global_size = kBatchRows;
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    batch.leaves.push_back(leaf);
    batch.first_sample.push_back(batch.rows());
    batch.leaf_begin.push_back(batch.rows() + kBatchRows / kLeaves);
  }
  batch.features = RandomFloats(0, batch.rows() * input_size, 1.0f);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    batch.samples.push_back(row);
    batch.labels.push_back(static_cast<int32_t>(row % kClasses));
  }
  return batch;
}

void Step(benchmark::State& state, absl::string_view model) {
  const ModelPlan plan = PlanOf(model);
  const StepBatch batch = BatchOf(state.range(0), plan.input_size);
  NetworkOptions options;
  options.thread_count = static_cast<int>(state.range(1));
  Network network(plan, KernelsFor(DetectIsaLevel()), options);
  std::vector<std::shared_ptr<FloatBuffer>> weights, gradients;
  std::vector<absl::Span<const float>> spans;
  std::vector<float*> memory;
  for (const ModelTensor& tensor : network.tensors()) {
    weights.push_back(RandomFloats(weights.size() + 1, tensor.size, 0.05f));
    spans.emplace_back(weights.back()->data(),
                       static_cast<std::size_t>(tensor.size));
    gradients.push_back(FloatBuffer::Allocate(tensor.size));
    memory.push_back(gradients.back()->data());
  }
  const LeafSpan node = {0, state.range(0)};
  const auto slice = [](const auto& all, TensorRange range) {
    return absl::MakeConstSpan(all).subspan(
        static_cast<std::size_t>(range.begin),
        static_cast<std::size_t>(range.end - range.begin));
  };
  for (auto _ : state) {
    SELARI_CHECK(network.Start(batch, StepMode::kTraining).ok());
    for (int32_t s = 0; s < network.stage_count(); ++s) {
      SELARI_CHECK(
          network.Forward(s, slice(spans, network.StageTensors(s))).ok());
    }
    SELARI_CHECK(network.Loss().ok());
    for (int32_t s = network.stage_count() - 1; s >= 0; --s) {
      const TensorRange range = network.StageTensors(s);
      SELARI_CHECK(network
                       .Backward(s, slice(spans, range),
                                 absl::MakeConstSpan(&node, 1),
                                 slice(memory, range))
                       .ok());
    }
  }
  state.SetItemsProcessed(state.iterations() * batch.rows());
}

BENCHMARK_CAPTURE(Step, mlp, kMlp)
    ->ArgNames({"leaves", "threads"})
    ->ArgsProduct({{4, 8}, {1, 2}})
    ->UseRealTime();
BENCHMARK_CAPTURE(Step, cnn, kCnn)
    ->ArgNames({"leaves", "threads"})
    ->ArgsProduct({{4, 8}, {1, 2}})
    ->UseRealTime();

}  // namespace
}  // namespace selari

BENCHMARK_MAIN();
