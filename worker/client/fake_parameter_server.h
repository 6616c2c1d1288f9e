// FakeParameterServer: the weights in one table, updated by plain SGD, for
// tests of what stands above ParameterClient. Nothing of the real client or
// shard is in it but their promise: SYNC updates a tensor when contributions
// to a step cover all leaves, summed along the tree.
//
// Thread safety: any number of clients, each on its own thread.

#ifndef SELARI_WORKER_CLIENT_FAKE_PARAMETER_SERVER_H_
#define SELARI_WORKER_CLIENT_FAKE_PARAMETER_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/float_buffer.h"
#include "common/mutex.h"
#include "common/reduction_tree.h"
#include "worker/client/parameter_client.h"

namespace selari {

class FakeParameterServer {
 public:
  struct Options {
    float learning_rate = 0.1f;
    // True: every push is applied on arrival, its node ignored.
    bool async = false;
    int32_t leaf_count = 8;
    // Version of the tensors at the start.
    int64_t version = 0;
  };
  // What one client pushed, for tests to look at.
  struct PushRecord {
    int64_t step = 0;
    TreeNode node;
    int32_t tensor = 0;
  };

  FakeParameterServer(std::vector<std::vector<float>> tensors,
                      const Options& options);

  // Borrows this server.
  std::unique_ptr<ParameterClient> NewClient();

  std::vector<std::vector<float>> tensors() const;
  int64_t oldest_version() const;
  std::vector<PushRecord> pushes() const;

  // From now on every wait and push answers `status`.
  void Fail(absl::Status status);

 private:
  friend class FakeParameterClient;
  struct Tensor {
    std::vector<float> weights;
    int64_t version = 0;
    // Contributions to the update that comes next and those after, by step
    // and node.
    std::map<int64_t, std::map<std::pair<int32_t, int32_t>,
                               std::shared_ptr<const FloatBuffer>>>
        pending;
  };

  absl::Status Push(const PushRecord& push,
                    std::shared_ptr<const FloatBuffer> gradient);
  // Waits for the version and copies the weights.
  absl::Status Pull(int32_t tensor, int64_t min_version, float* weights) const;
  void ApplyReady(Tensor* tensor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply(const float* gradient, Tensor* tensor)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const ReductionTree tree_;

  mutable Mutex mu_;
  mutable CondVar changed_;
  std::vector<Tensor> tensors_ ABSL_GUARDED_BY(mu_);
  std::vector<PushRecord> pushes_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_FAKE_PARAMETER_SERVER_H_
