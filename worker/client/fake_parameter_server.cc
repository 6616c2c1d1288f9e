#include "worker/client/fake_parameter_server.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace selari {
namespace {

using Contributions =
    std::map<std::pair<int32_t, int32_t>, std::shared_ptr<const FloatBuffer>>;

// The node's sum, or nothing when contributions do not cover it.
std::optional<std::vector<float>> SumOf(const ReductionTree& tree,
                                        const Contributions& contributions,
                                        TreeNode node) {
  const auto found = contributions.find({node.level, node.index});
  if (found != contributions.end()) {
    const FloatBuffer& floats = *found->second;
    return std::vector<float>(floats.data(), floats.data() + floats.size());
  }
  if (node.level == 0) {
    return std::nullopt;
  }
  const TreeNode right = {node.level - 1, 2 * node.index + 1};
  auto sum = SumOf(tree, contributions, {node.level - 1, 2 * node.index});
  if (!sum.has_value() || !tree.Contains(right)) {
    return sum;
  }
  const auto other = SumOf(tree, contributions, right);
  if (!other.has_value()) {
    return std::nullopt;
  }
  std::transform(sum->begin(), sum->end(), other->begin(), sum->begin(),
                 [](float a, float b) { return a + b; });
  return sum;
}

}  // namespace

class FakeParameterClient final : public ParameterClient {
 public:
  FakeParameterClient(FakeParameterServer* server,
                      const std::vector<int64_t>& tensor_sizes)
      : server_(*server), min_versions_(tensor_sizes.size(), 0) {
    for (const int64_t size : tensor_sizes) {
      weights_.push_back(FloatBuffer::Allocate(size));
    }
  }

  absl::StatusOr<int64_t> FindStep() override {
    return server_.oldest_version();
  }
  void RequestPulls(int32_t begin, int32_t end, int64_t min_version) override {
    for (int32_t tensor = begin; tensor < end; ++tensor) {
      RequestOne(tensor, min_version);
    }
  }
  void RequestOne(int32_t tensor, int64_t min_version) {
    const std::size_t t = static_cast<std::size_t>(tensor);
    min_versions_[t] = min_version;
    // Whoever still reads the old weights sees it at once.
    std::fill_n(weights_[t]->data(), weights_[t]->size(), -1e30f);
  }

  absl::StatusOr<absl::Span<const float>> WaitForTensor(
      int32_t tensor) override {
    const std::size_t t = static_cast<std::size_t>(tensor);
    SELARI_RETURN_IF_ERROR(
        server_.Pull(tensor, min_versions_[t], weights_[t]->data()));
    stats_.bytes_pulled += weights_[t]->size_bytes();
    return absl::MakeConstSpan(weights_[t]->data(),
                               static_cast<std::size_t>(weights_[t]->size()));
  }

  absl::Status Push(int64_t step, TreeNode node, int32_t tensor,
                    std::shared_ptr<const FloatBuffer> gradient) override {
    stats_.bytes_pushed += gradient->size_bytes();
    return server_.Push({step, node, tensor}, std::move(gradient));
  }

  absl::Status Flush() override { return absl::OkStatus(); }
  ClientStats Stats() const override { return stats_; }

 private:
  FakeParameterServer& server_;
  std::vector<int64_t> min_versions_;
  std::vector<std::shared_ptr<FloatBuffer>> weights_;
  ClientStats stats_;
};

FakeParameterServer::FakeParameterServer(
    std::vector<std::vector<float>> tensors, const Options& options)
    : options_(options), tree_(options.leaf_count) {
  MutexLock lock(&mu_);
  for (std::vector<float>& weights : tensors) {
    Tensor tensor;
    tensor.weights = std::move(weights);
    tensor.version = options.version;
    tensors_.push_back(std::move(tensor));
  }
}

std::unique_ptr<ParameterClient> FakeParameterServer::NewClient() {
  MutexLock lock(&mu_);
  std::vector<int64_t> sizes;
  for (const Tensor& tensor : tensors_) {
    sizes.push_back(static_cast<int64_t>(tensor.weights.size()));
  }
  return std::make_unique<FakeParameterClient>(this, std::move(sizes));
}

int64_t FakeParameterServer::oldest_version() const {
  MutexLock lock(&mu_);
  int64_t version = tensors_.front().version;
  for (const Tensor& tensor : tensors_) {
    version = std::min(version, tensor.version);
  }
  return version;
}

std::vector<std::vector<float>> FakeParameterServer::tensors() const {
  MutexLock lock(&mu_);
  std::vector<std::vector<float>> all;
  for (const Tensor& tensor : tensors_) {
    all.push_back(tensor.weights);
  }
  return all;
}

std::vector<FakeParameterServer::PushRecord> FakeParameterServer::pushes()
    const {
  MutexLock lock(&mu_);
  return pushes_;
}

void FakeParameterServer::Fail(absl::Status status) {
  MutexLock lock(&mu_);
  failure_ = std::move(status);
  changed_.NotifyAll();
}

absl::Status FakeParameterServer::Push(
    const PushRecord& push, std::shared_ptr<const FloatBuffer> gradient) {
  MutexLock lock(&mu_);
  SELARI_RETURN_IF_ERROR(failure_);
  Tensor* const tensor = &tensors_[static_cast<std::size_t>(push.tensor)];
  if (gradient->size() != static_cast<int64_t>(tensor->weights.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", push.tensor, " has ", tensor->weights.size(),
                     " elements, the gradient ", gradient->size()));
  }
  pushes_.push_back(push);
  if (options_.async) {
    Apply(gradient->data(), tensor);
  } else {
    SELARI_CHECK(push.step >= tensor->version);
    tensor->pending[push.step][{push.node.level, push.node.index}] =
        std::move(gradient);
    ApplyReady(tensor);
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

void FakeParameterServer::ApplyReady(Tensor* tensor) {
  for (auto next = tensor->pending.find(tensor->version);
       next != tensor->pending.end();
       next = tensor->pending.find(tensor->version)) {
    const auto sum = SumOf(tree_, next->second, tree_.root());
    if (!sum.has_value()) {
      return;
    }
    tensor->pending.erase(next);
    Apply(sum->data(), tensor);
  }
}

void FakeParameterServer::Apply(const float* gradient, Tensor* tensor) {
  for (std::size_t i = 0; i < tensor->weights.size(); ++i) {
    tensor->weights[i] -= options_.learning_rate * gradient[i];
  }
  ++tensor->version;
}

absl::Status FakeParameterServer::Pull(int32_t tensor, int64_t min_version,
                                       float* weights) const {
  MutexLock lock(&mu_);
  const Tensor& wanted = tensors_[static_cast<std::size_t>(tensor)];
  while (wanted.version < min_version && failure_.ok()) {
    changed_.Wait(&mu_);
  }
  SELARI_RETURN_IF_ERROR(failure_);
  std::copy(wanted.weights.begin(), wanted.weights.end(), weights);
  return absl::OkStatus();
}

}  // namespace selari
