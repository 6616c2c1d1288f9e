// PullQueue: the pulls of one shard that wait for a newer version.
//
// Not thread-safe.

#ifndef SELARI_SERVER_SHARD_PULL_QUEUE_H_
#define SELARI_SERVER_SHARD_PULL_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/shard_message.h"
#include "server/shard/session_table.h"

namespace selari {

class PullQueue {
 public:
  struct Waiting {
    SessionId session;
    ChunkPull pull;
  };
  // Pulls that may wait for one chunk: far more than workers exist.
  static constexpr size_t kWaitingMax = 4096;

  explicit PullQueue(size_t chunk_count) : chunks_(chunk_count) {}

  // By the chunk's position in the shard. False when too many wait for it.
  bool Add(size_t index, SessionId session, const ChunkPull& pull) {
    if (chunks_[index].size() >= kWaitingMax) {
      return false;
    }
    chunks_[index].push_back({session, pull});
    ++size_;
    return true;
  }

  // Removes the pulls of one chunk for which `ready(pull)` holds and passes
  // each to `answer(session, pull)`, in order of arrival.
  template <typename Ready, typename Answer>
  void Release(size_t index, const Ready& ready, const Answer& answer) {
    std::vector<Waiting>& waiting = chunks_[index];
    size_t kept = 0;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (ready(waiting[i].pull)) {
        answer(waiting[i].session, waiting[i].pull);
      } else {
        waiting[kept++] = waiting[i];
      }
    }
    size_ -= static_cast<int64_t>(waiting.size() - kept);
    waiting.resize(kept);
  }

  // The same for every chunk.
  template <typename Ready, typename Answer>
  void ReleaseAll(const Ready& ready, const Answer& answer) {
    for (size_t index = 0; size_ > 0 && index < chunks_.size(); ++index) {
      Release(index, ready, answer);
    }
  }

  // Forgets what a session waits for.
  void DropSession(SessionId session) {
    for (std::vector<Waiting>& waiting : chunks_) {
      const auto end = std::remove_if(
          waiting.begin(), waiting.end(),
          [session](const Waiting& one) { return one.session == session; });
      size_ -= waiting.end() - end;
      waiting.erase(end, waiting.end());
    }
  }

  int64_t size() const { return size_; }

 private:
  std::vector<std::vector<Waiting>> chunks_;
  int64_t size_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_PULL_QUEUE_H_
