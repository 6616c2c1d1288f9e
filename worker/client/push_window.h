// PushWindow: bounds the gradient bytes that one server has been sent and has
// not answered, by making the pushing thread wait.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_WORKER_CLIENT_PUSH_WINDOW_H_
#define SELARI_WORKER_CLIENT_PUSH_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/chunk_layout.h"
#include "common/mutex.h"
#include "common/shard_message.h"

namespace selari {

class PushWindow {
 public:
  // `layout` outlives this. The window is open until Start.
  explicit PushWindow(const ChunkLayout* layout) : layout_(layout) {}

  // A new connection: nothing is under way, `bytes_max` (> 0) may be.
  void Start(int64_t bytes_max);
  // Nobody waits until the next Start, as nothing can be answered.
  void Open();

  void CountSent(const std::vector<ShardRequest>& requests);
  void CountAnswered(const std::vector<ShardReply>& replies);

  // Waits until fewer than bytes_max bytes are under way.
  void Wait();

 private:
  const ChunkLayout* const layout_;

  Mutex mu_;
  CondVar changed_;
  bool limited_ ABSL_GUARDED_BY(mu_) = false;
  int64_t bytes_max_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_PUSH_WINDOW_H_
