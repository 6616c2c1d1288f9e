#include "worker/step.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/isa.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "worker/client/fake_parameter_server.h"
#include "worker/model/model_plan.h"
#include "worker/model/network.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kLeafCount = 8;
constexpr uint64_t kSeed = 3;

class Recorder final : public StepObserver {
 public:
  absl::Status OnStep(const StepReport& report) override {
    reports.push_back(report);
    return report.step == stop_at ? absl::CancelledError("stop")
                                  : absl::OkStatus();
  }
  void OnEvaluation(int64_t step, const EvaluationResult& result) override {
    evaluated_steps.push_back(step);
    last_result = result;
  }

  int64_t stop_at = -1;
  std::vector<StepReport> reports;
  std::vector<int64_t> evaluated_steps;
  EvaluationResult last_result;
};

// Three clouds of points in the plane, around (2, 0), (-1, 2) and (-1, -2).
Dataset Clouds(int64_t size, uint64_t part) {
  Dataset dataset;
  dataset.source = "clouds";
  dataset.size = size;
  dataset.dim = 2;
  dataset.feature_shape = {2};
  dataset.class_count = 3;
  dataset.features = FloatBuffer::Allocate(2 * size);
  FillNormal(MakeRandomKey(kSeed, RandomStream::kTest, part), 0, 0.0f, 0.5f,
             {dataset.features->data(), static_cast<std::size_t>(2 * size)});
  constexpr float kCentre[3][2] = {{2, 0}, {-1, 2}, {-1, -2}};
  for (int64_t i = 0; i < size; ++i) {
    const int32_t label = static_cast<int32_t>(i % 3);
    dataset.features->data()[2 * i] += kCentre[label][0];
    dataset.features->data()[2 * i + 1] += kCentre[label][1];
    dataset.labels.push_back(label);
  }
  return dataset;
}

ModelPlan MlpPlan() {
  v1::Model model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "loss: LOSS_SOFTMAX_CROSS_ENTROPY layers { dense { units: 16 } }"
      "layers { relu {} } layers { dropout { rate: 0.1 } }"
      "layers { dense { units: 3 } }",
      &model));
  return *PlanModel(model, {2}, 3);
}

std::vector<std::vector<float>> InitialTensors(const ModelPlan& plan) {
  std::vector<std::vector<float>> tensors;
  for (const LayerPlan& layer : plan.layers) {
    for (const TensorPlan& tensor : layer.tensors) {
      tensors.emplace_back(static_cast<std::size_t>(tensor.size));
      if (tensor.initial.kind == InitialValues::Kind::kUniform) {
        FillUniform(
            MakeRandomKey(kSeed, RandomStream::kInitialValue, tensors.size()),
            0, -tensor.initial.value, tensor.initial.value,
            absl::MakeSpan(tensors.back()));
      }
    }
  }
  return tensors;
}

class StepLoopTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSamples = 150;
  static constexpr int64_t kBatch = 20;

  StepLoopTest()
      : training_(Clouds(kSamples, 0)),
        held_out_(Clouds(90, 1)),
        plan_(MlpPlan()),
        sampler_(Sampling()) {}

  static SamplerOptions Sampling() {
    SamplerOptions options;
    options.seed = kSeed;
    options.sample_count = kSamples;
    options.batch_size = kBatch;
    options.leaf_count = kLeafCount;
    return options;
  }

  static StepLoopOptions Steps(int64_t first, int64_t end) {
    StepLoopOptions options;
    options.first_step = first;
    options.end_step = end;
    options.leaf_count = kLeafCount;
    options.leaves = {0, kLeafCount};
    return options;
  }

  static FakeParameterServer::Options AtVersion(int64_t version) {
    FakeParameterServer::Options options;
    options.version = version;
    return options;
  }

  absl::Status RunNetwork(const StepLoopOptions& options,
                          FakeParameterServer* server, Recorder* recorder) {
    NetworkOptions network_options;
    network_options.seed = kSeed;
    Network network(plan_, KernelsFor(DetectIsaLevel()), network_options);
    return RunModel(&network, options, server, recorder);
  }

  absl::Status RunModel(Model* model, const StepLoopOptions& options,
                        FakeParameterServer* server, Recorder* recorder) {
    const std::unique_ptr<ParameterClient> client = server->NewClient();
    StepLoop loop(
        {model, client.get(), &training_, &sampler_, &held_out_, recorder},
        options);
    return loop.Run();
  }

  // SYNC with `workers` threads; the weights after `end` steps.
  std::vector<std::vector<float>> TrainWith(int32_t workers, int64_t end) {
    FakeParameterServer server(InitialTensors(plan_), {});
    const ReductionTree tree(kLeafCount);
    std::vector<std::thread> threads;
    for (int32_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] {
        StepLoopOptions options = Steps(0, end);
        options.leaves = tree.LeavesOfWorker(worker, workers);
        Recorder recorder;
        const absl::Status status = RunNetwork(options, &server, &recorder);
        EXPECT_TRUE(status.ok()) << status;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return server.tensors();
  }

  Dataset training_;
  Dataset held_out_;
  ModelPlan plan_;
  Sampler sampler_;
};

TEST_F(StepLoopTest, TrainsToConvergence) {
  FakeParameterServer server(InitialTensors(plan_), {});
  StepLoopOptions options = Steps(0, 400);
  options.evaluate_at_end = true;
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(options, &server, &recorder).ok());
  EXPECT_THAT(recorder.evaluated_steps, ElementsAre(400));
  EXPECT_GT(*recorder.last_result.accuracy, 0.97);
  EXPECT_LT(recorder.last_result.loss, 0.1);
}

TEST_F(StepLoopTest, AnyNumberOfWorkersEndsWithTheSameBits) {
  const auto expected = TrainWith(1, 20);
  for (const int32_t workers : {2, 3, 5, 8, 9}) {
    EXPECT_EQ(TrainWith(workers, 20), expected) << workers << " workers";
  }
  // The comparison can fail: one step less gives other weights.
  EXPECT_NE(TrainWith(1, 19), expected);
}

TEST_F(StepLoopTest, ARunThatGoesOnInMidEpochEndsWithTheSameBits) {
  FakeParameterServer first(InitialTensors(plan_), {});
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(Steps(0, 5), &first, &recorder).ok());
  FakeParameterServer second(first.tensors(), AtVersion(5));
  ASSERT_TRUE(RunNetwork(Steps(5, 20), &second, &recorder).ok());
  EXPECT_EQ(second.tensors(), TrainWith(1, 20));
}

TEST_F(StepLoopTest, ReportsEachStep) {
  FakeParameterServer server(InitialTensors(plan_), AtVersion(6));
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(Steps(6, 9), &server, &recorder).ok());
  ASSERT_EQ(recorder.reports.size(), 3u);
  // Step 7 is the short last batch of the first epoch.
  EXPECT_EQ(recorder.reports[1].step, 7);
  EXPECT_EQ(recorder.reports[1].sample_count, 10);
  EXPECT_GT(recorder.reports[0].loss_sum, 0.0);
  EXPECT_LE(recorder.reports[0].correct_count, 20);
  EXPECT_GE(recorder.reports[0].compute_us, 0);
  for (const StepReport& report : recorder.reports) {
    EXPECT_GT(report.elapsed_us, 0);
    EXPECT_GE(report.elapsed_us,
              report.compute_us + report.pull_wait_us + report.push_wait_us);
  }
}

TEST_F(StepLoopTest, EvaluatesWhenDue) {
  FakeParameterServer server(InitialTensors(plan_), AtVersion(3));
  StepLoopOptions options = Steps(3, 10);
  options.evaluate_every_steps = 3;
  options.evaluate_at_end = true;
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(options, &server, &recorder).ok());
  EXPECT_THAT(recorder.evaluated_steps, ElementsAre(3, 6, 9, 10));
}

TEST_F(StepLoopTest, AsyncWorkersTakeEveryWthBatch) {
  FakeParameterServer::Options server_options;
  server_options.async = true;
  FakeParameterServer server(InitialTensors(plan_), server_options);
  StepLoopOptions options = Steps(1, 9);
  options.stride = 3;
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(options, &server, &recorder).ok());
  std::vector<int64_t> steps, clocks;
  for (const StepReport& report : recorder.reports) {
    steps.push_back(report.step);
  }
  EXPECT_THAT(steps, ElementsAre(1, 4, 7));
  for (const auto& push : server.pushes()) {
    if (push.tensor == 0) {
      clocks.push_back(push.step);
    }
  }
  EXPECT_THAT(clocks, ElementsAre(0, 1, 2));
}

TEST_F(StepLoopTest, PushesTheLastLayerFirst) {
  FakeParameterServer server(InitialTensors(plan_), {});
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(Steps(0, 1), &server, &recorder).ok());
  std::vector<int32_t> tensors;
  for (const auto& push : server.pushes()) {
    tensors.push_back(push.tensor);
  }
  EXPECT_THAT(tensors, ElementsAre(2, 3, 0, 1));
}

TEST_F(StepLoopTest, NamesStepAndLeafOfALossThatIsNotFinite) {
  training_.features->data()[2 * 77] = std::numeric_limits<float>::quiet_NaN();
  FakeParameterServer server(InitialTensors(plan_), {});
  Recorder recorder;
  const absl::Status status = RunNetwork(Steps(0, 8), &server, &recorder);
  // Where sample 77 comes up first.
  StepBatch batch;
  for (int64_t step = 0; step < 8; ++step) {
    for (int64_t leaf = 0; leaf < kLeafCount; ++leaf) {
      GatherStep(training_, sampler_, step, {leaf}, &batch);
      if (std::count(batch.samples.begin(), batch.samples.end(), 77) > 0) {
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr(absl::StrCat("step ", step, ": the loss of leaf ",
                                           leaf, " is nan")));
      }
    }
  }
}

TEST_F(StepLoopTest, AStoppedJobEndsTheLoop) {
  FakeParameterServer server(InitialTensors(plan_), {});
  server.Fail(absl::AbortedError("job stopped"));
  Recorder recorder;
  EXPECT_EQ(RunNetwork(Steps(0, 8), &server, &recorder).code(),
            absl::StatusCode::kAborted);
}

TEST_F(StepLoopTest, TheObserverCanEndTheLoop) {
  FakeParameterServer server(InitialTensors(plan_), {});
  Recorder recorder;
  recorder.stop_at = 2;
  EXPECT_EQ(RunNetwork(Steps(0, 8), &server, &recorder).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(recorder.reports.size(), 3u);
}

TEST_F(StepLoopTest, AWorkerWithoutLeavesOnlyEvaluates) {
  FakeParameterServer server(InitialTensors(plan_), {});
  StepLoopOptions options = Steps(0, 0);
  options.leaves = {4, 4};
  options.evaluate_at_end = true;
  Recorder recorder;
  ASSERT_TRUE(RunNetwork(options, &server, &recorder).ok());
  EXPECT_THAT(recorder.reports, ::testing::IsEmpty());
  EXPECT_THAT(recorder.evaluated_steps, ElementsAre(0));
}

// A user's own model: one tensor, gradient 1 for each leaf but a bad one.
class OwnModel final : public Model {
 public:
  explicit OwnModel(int64_t bad_leaf) : bad_leaf_(bad_leaf) {}

  absl::Span<const ModelTensor> tensors() const override { return tensors_; }
  int32_t stage_count() const override { return 1; }
  TensorRange StageTensors(int32_t) const override { return {0, 1}; }
  absl::Status Start(const StepBatch& batch, StepMode) override {
    batch_ = &batch;
    return absl::OkStatus();
  }
  absl::Status Forward(int32_t, TensorSpans) override {
    return absl::OkStatus();
  }
  absl::StatusOr<StepLoss> Loss() override {
    StepLoss loss;
    loss.leaf_loss.assign(batch_->leaves.size(), 1.0);
    return loss;
  }
  absl::Status Backward(int32_t, TensorSpans, absl::Span<const LeafSpan> nodes,
                        absl::Span<float* const> grads) override {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      grads[node][0] = 0.0f;
      for (int64_t leaf = nodes[node].begin; leaf < nodes[node].end; ++leaf) {
        grads[node][0] += GradientOf(leaf);
      }
    }
    return absl::OkStatus();
  }
  absl::Status LeafGradient(int32_t, TensorSpans, int64_t leaf,
                            absl::Span<float* const> grads) override {
    grads[0][0] = GradientOf(leaf);
    return absl::OkStatus();
  }

 private:
  float GradientOf(int64_t leaf) const {
    return batch_->leaves[static_cast<std::size_t>(leaf)] == bad_leaf_
               ? std::numeric_limits<float>::infinity()
               : 1.0f;
  }

  const int64_t bad_leaf_;
  const std::vector<ModelTensor> tensors_ = {{"own/scale", 1}};
  const StepBatch* batch_ = nullptr;
};

TEST_F(StepLoopTest, TrainsAUsersOwnModel) {
  FakeParameterServer server({{10.0f}}, {});
  OwnModel model(-1);
  Recorder recorder;
  ASSERT_TRUE(RunModel(&model, Steps(0, 5), &server, &recorder).ok());
  EXPECT_NEAR(server.tensors()[0][0], 10.0 - 5 * 0.1 * kLeafCount, 1e-5);
}

TEST_F(StepLoopTest, NamesStepTensorAndLeafOfABadGradient) {
  FakeParameterServer server({{10.0f}}, AtVersion(2));
  OwnModel model(6);
  StepLoopOptions options = Steps(2, 5);
  options.leaves = {5, 8};
  Recorder recorder;
  EXPECT_THAT(
      std::string(RunModel(&model, options, &server, &recorder).message()),
      HasSubstr("step 2: the gradient of own/scale is not finite in leaf 6"));
}

}  // namespace
}  // namespace selari
