#include "server/shard/session_table.h"

#include <algorithm>

namespace selari {

void SessionTable::Open(SessionId session, const WorkerIdentity& worker) {
  sessions_.insert_or_assign(session, worker);
  if (worker.worker_id == kObserverId) {
    return;
  }
  Fence& fence = fences_[worker.worker_id];
  if (fence.incarnation == worker.incarnation ||
      std::find(fence.fenced.begin(), fence.fenced.end(), worker.incarnation) !=
          fence.fenced.end()) {
    return;
  }
  if (fence.incarnation != 0) {
    fence.fenced.push_back(fence.incarnation);
    if (fence.fenced.size() > kFencedMax) {
      fence.fenced.pop_front();
    }
  }
  fence.incarnation = worker.incarnation;
}

const WorkerIdentity* SessionTable::Find(SessionId session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

bool SessionTable::MayPush(const WorkerIdentity& worker) const {
  const auto found = fences_.find(worker.worker_id);
  return found != fences_.end() &&
         found->second.incarnation == worker.incarnation;
}

}  // namespace selari
