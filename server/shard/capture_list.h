// CaptureList: snapshots of a shard that are being taken. Each chunk is
// captured, by reference, when it reaches the wanted version, while the shard
// goes on.
//
// Not thread-safe. A callback must not call back into the shard.

#ifndef SELARI_SERVER_SHARD_CAPTURE_LIST_H_
#define SELARI_SERVER_SHARD_CAPTURE_LIST_H_

#include <cstdint>
#include <functional>
#include <list>

#include "absl/status/statusor.h"
#include "common/shard_snapshot.h"
#include "server/shard/shard_state.h"

namespace selari {

using ShardCaptureCallback = std::function<void(absl::StatusOr<ShardSnapshot>)>;

class CaptureList {
 public:
  CaptureList() = default;
  ~CaptureList() { Clear(); }
  CaptureList(const CaptureList&) = delete;
  CaptureList& operator=(const CaptureList&) = delete;

  // Calls back with CANCELLED for what is not done.
  void Clear();

  // Captures each chunk at version `step`, those that are there at once; calls
  // back when the last one is. With step -1 all are taken as they are.
  // FAILED_PRECONDITION, at once, when a chunk is past `step`. `log_sequence`:
  // a place in the log where no op of step `step` is before; used when a chunk
  // is taken at once.
  void Add(int64_t step, ShardState* state, int64_t log_sequence,
           ShardCaptureCallback done);

  // To be called after each update, before the next one. `log_sequence`: of
  // the op after this one.
  void OnUpdate(size_t index, ShardState* state, int64_t log_sequence);

 private:
  struct Capture {
    int64_t step;
    ShardSnapshot snapshot;
    size_t missing;  // chunks not taken yet
    ShardCaptureCallback done;
  };

  static void Finish(Capture* capture, const ShardState& state);

  std::list<Capture> captures_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CAPTURE_LIST_H_
