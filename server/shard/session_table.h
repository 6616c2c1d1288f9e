// SessionTable: who is connected to a shard, and which life of each worker
// may push.
//
// Not thread-safe.

#ifndef SELARI_SERVER_SHARD_SESSION_TABLE_H_
#define SELARI_SERVER_SHARD_SESSION_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>

#include "common/shard_message.h"

namespace selari {

using SessionId = int64_t;

// A worker id that only reads.
constexpr int32_t kObserverId = -1;

class SessionTable {
 public:
  // Adds a session. Unless its incarnation has been fenced before, it fences
  // all others of the same worker from now on.
  void Open(SessionId session, const WorkerIdentity& worker);
  void Close(SessionId session) { sessions_.erase(session); }

  // Null when the session is not open.
  const WorkerIdentity* Find(SessionId session) const;
  // False when another life of the worker took over.
  bool MayPush(const WorkerIdentity& worker) const;
  // All sessions, ascending.
  const std::map<SessionId, WorkerIdentity>& sessions() const {
    return sessions_;
  }

 private:
  // Former lives that are remembered, so that a process thought dead cannot
  // take its id back. Older ones are long gone.
  static constexpr size_t kFencedMax = 16;

  struct Fence {
    uint64_t incarnation = 0;     // the one that may push
    std::deque<uint64_t> fenced;  // oldest first
  };

  std::map<SessionId, WorkerIdentity> sessions_;
  std::map<int32_t, Fence> fences_;  // by worker id
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SESSION_TABLE_H_
