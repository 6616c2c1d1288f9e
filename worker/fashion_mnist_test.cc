// The real data through the real loop: softmax regression on Fashion-MNIST
// learns within some seconds. Skipped when Debian's dataset-fashion-mnist is
// not installed.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/isa.h"
#include "common/posix_file_env.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "worker/client/fake_parameter_server.h"
#include "worker/data/load.h"
#include "worker/model/model_plan.h"
#include "worker/model/network.h"
#include "worker/step.h"

namespace selari {
namespace {

constexpr char kFolder[] = "/usr/share/datasets/fashion-mnist";

class LastEvaluation final : public StepObserver {
 public:
  absl::Status OnStep(const StepReport&) override { return absl::OkStatus(); }
  void OnEvaluation(int64_t, const EvaluationResult& evaluation) override {
    result = evaluation;
  }

  EvaluationResult result;
};

TEST(FashionMnistTest, SoftmaxRegressionLearns) {
  PosixFileEnv env;
  if (!env.Exists(kFolder).value_or(false)) {
    std::printf("SKIPPED: package dataset-fashion-mnist is not installed\n");
    GTEST_SKIP();
  }
  v1::Data data;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "train { idx { features: 'train-images-idx3-ubyte.gz'"
      "              labels: 'train-labels-idx1-ubyte.gz' }"
      "        sample_limit: 20000 }"
      "test { idx { features: 't10k-images-idx3-ubyte.gz'"
      "             labels: 't10k-labels-idx1-ubyte.gz' } }"
      "scale: 0.00392156862745098",
      &data));
  const auto splits = LoadData(env, data, kFolder, LabelKind::kClass);
  ASSERT_TRUE(splits.ok()) << splits.status();
  v1::Model model;
  model.set_loss(v1::LOSS_SOFTMAX_CROSS_ENTROPY);
  model.add_layers()->mutable_dense()->set_units(10);
  const auto plan = PlanModel(model, splits->train.feature_shape, 10);
  ASSERT_TRUE(plan.ok()) << plan.status();

  SamplerOptions sampling;
  sampling.sample_count = splits->train.size;
  sampling.batch_size = 64;
  const Sampler sampler(sampling);
  StepLoopOptions options;
  options.end_step = 400;
  options.leaves = {0, options.leaf_count};
  options.evaluate_at_end = true;
  FakeParameterServer server(
      {std::vector<float>(7840, 0.0f), std::vector<float>(10, 0.0f)}, {});
  const std::unique_ptr<ParameterClient> client = server.NewClient();
  Network network(*plan, KernelsFor(DetectIsaLevel()), {});
  LastEvaluation observer;
  StepLoop loop({&network, client.get(), &splits->train, &sampler,
                 &*splits->test, &observer},
                options);
  const absl::Status status = loop.Run();
  ASSERT_TRUE(status.ok()) << status;
  std::printf("test accuracy %.4f, test loss %.4f\n", *observer.result.accuracy,
              observer.result.loss);
  EXPECT_GT(*observer.result.accuracy, 0.78);
}

}  // namespace
}  // namespace selari
