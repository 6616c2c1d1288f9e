#include "tests/integration/toy_training.h"

#include <algorithm>
#include <thread>

#include "common/job_layout.h"
#include "common/job_reduction.h"
#include "common/reduction_tree.h"
#include "common/status.h"
#include "worker/client/parameter_client_impl.h"

namespace selari {
namespace {

// In [-1, 1), different for each leaf, step and element.
float Target(int32_t leaf, int64_t step, int64_t i) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u +
               static_cast<uint64_t>(leaf * 1000 + step);
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9u;
  return static_cast<float>(x >> 40) * 0x1p-23f - 1.0f;
}

// The gradient of one tree node: (n), leaves summed along the tree.
void NodeGradient(const ReductionTree& tree, TreeNode node, int64_t step,
                  absl::Span<const float> weights, std::vector<float>* sum) {
  const auto n = static_cast<int64_t>(weights.size());
  if (node.level == 0) {
    for (int64_t i = 0; i < n; ++i) {
      (*sum)[i] = (weights[i] - Target(node.index, step, i)) /
                  static_cast<float>(tree.leaf_count());
    }
    return;
  }
  NodeGradient(tree, {node.level - 1, 2 * node.index}, step, weights, sum);
  const TreeNode right{node.level - 1, 2 * node.index + 1};
  if (!tree.Contains(right)) {
    return;
  }
  std::vector<float> other(n);
  NodeGradient(tree, right, step, weights, &other);
  for (int64_t i = 0; i < n; ++i) {
    (*sum)[i] += other[i];
  }
}

class ToyWorker {
 public:
  ToyWorker(const v1::ResolvedJob& job, int32_t worker_id, const ToyRun& run)
      : job_(job),
        worker_id_(worker_id),
        run_(run),
        tree_(job.job().training().leaf_count()) {}

  absl::Status Run() {
    SELARI_ASSIGN_OR_RETURN(auto transport, run_.make_transport(worker_id_));
    SELARI_ASSIGN_OR_RETURN(
        client_, ConnectParameterClient(job_, std::move(transport), {}));
    const std::vector<TreeNode> nodes = Nodes();
    RequestAll(0);
    for (int64_t step = 0; step < run_.steps; ++step) {
      if (worker_id_ == 0 && run_.before_step != nullptr) {
        run_.before_step(step);
      }
      // As a backward pass does: last tensor first, next weights at once.
      for (int32_t tensor = job_.tensors_size() - 1; tensor >= 0; --tensor) {
        SELARI_ASSIGN_OR_RETURN(const auto weights,
                                client_->WaitForTensor(tensor));
        std::vector<std::shared_ptr<FloatBuffer>> gradients;
        for (const TreeNode& node : nodes) {
          gradients.push_back(Compute(node, step, weights));
        }
        for (size_t i = 0; i < nodes.size(); ++i) {
          SELARI_RETURN_IF_ERROR(
              client_->Push(step, nodes[i], tensor, gradients[i]));
        }
        client_->RequestPull(tensor, step + 1);
      }
    }
    for (int32_t tensor = 0; tensor < job_.tensors_size(); ++tensor) {
      SELARI_ASSIGN_OR_RETURN(const auto weights,
                              client_->WaitForTensor(tensor));
      result_.insert(result_.end(), weights.begin(), weights.end());
    }
    absl::Status flushed = client_->Flush();
    client_ = nullptr;
    return flushed;
  }

  const std::vector<float>& result() const { return result_; }

 private:
  std::vector<TreeNode> Nodes() const {
    return IsSync(job_.job()) ? tree_.Cover(tree_.LeavesOfWorker(
                                    worker_id_, job_.job().cluster().workers()))
                              : std::vector<TreeNode>{tree_.root()};
  }

  void RequestAll(int64_t version) {
    for (int32_t tensor = 0; tensor < job_.tensors_size(); ++tensor) {
      client_->RequestPull(tensor, version);
    }
  }

  std::shared_ptr<FloatBuffer> Compute(TreeNode node, int64_t step,
                                       absl::Span<const float> weights) const {
    std::vector<float> sum(weights.size());
    NodeGradient(tree_, node, step, weights, &sum);
    auto gradient = FloatBuffer::Allocate(static_cast<int64_t>(sum.size()));
    std::copy(sum.begin(), sum.end(), gradient->data());
    return gradient;
  }

  const v1::ResolvedJob& job_;
  const int32_t worker_id_;
  const ToyRun& run_;
  const ReductionTree tree_;
  std::unique_ptr<ParameterClient> client_;
  std::vector<float> result_;
};

}  // namespace

v1::ResolvedJob ToyJob(int32_t workers) {
  v1::ResolvedJob resolved;
  resolved.set_job_id("00000000000000aa");
  resolved.set_total_steps(1000);
  v1::Job& job = *resolved.mutable_job();
  job.set_seed(7);
  job.mutable_cluster()->set_workers(workers);
  job.mutable_cluster()->set_shard_count(3);
  job.mutable_training()->set_leaf_count(6);
  job.mutable_consistency()->set_mode(v1::CONSISTENCY_SYNC);
  job.mutable_optimizer()->mutable_sgd();
  job.mutable_optimizer()->set_learning_rate(0.1);
  const std::pair<const char*, int64_t> tensors[] = {
      {"dense/w", 200000}, {"dense/b", 7}, {"out", 1000}};
  for (const auto& [name, count] : tensors) {
    v1::TensorSpec* tensor = resolved.add_tensors();
    tensor->set_name(name);
    tensor->add_shape(count);
    tensor->mutable_initializer()->set_normal_stddev(0.5f);
  }
  return resolved;
}

absl::StatusOr<std::vector<float>> TrainToy(const v1::ResolvedJob& job,
                                            const ToyRun& run) {
  const int32_t count = job.job().cluster().workers();
  std::vector<std::unique_ptr<ToyWorker>> workers;
  std::vector<absl::Status> statuses(count);
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<ToyWorker>(job, i, run));
  }
  for (int32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { statuses[i] = workers[i]->Run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const absl::Status& status : statuses) {
    SELARI_RETURN_IF_ERROR(status);
  }
  return workers[0]->result();
}

}  // namespace selari
