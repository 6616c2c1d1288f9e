// CheckpointStore: where the coordinator publishes checkpoints, as an
// interface so that its logic can be tested without files.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_COORDINATOR_CHECKPOINT_STORE_H_
#define SELARI_SERVER_COORDINATOR_CHECKPOINT_STORE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "selari/v1/checkpoint.pb.h"

namespace selari {

struct PublishedCheckpoint {
  std::string path;  // its folder; empty when there is none
  int64_t step = 0;
  std::string state_digest;
};

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // A folder of its own for each call, into which servers write the files of
  // one attempt. Makes nothing on the disk. REQUIRES: step >= 0.
  virtual std::string AttemptDirectory(int64_t step) = 0;

  // Turns an attempt into a checkpoint in one step, with a manifest of which
  // job, step, shards and worker_clocks are given, and removes checkpoints
  // past job.checkpointing.keep. Blocks on the disk. After an error the
  // attempt is still no checkpoint.
  virtual absl::StatusOr<PublishedCheckpoint> Publish(
      absl::string_view directory, v1::CheckpointManifest manifest) = 0;

  // Removes what is there of an attempt. Blocks on the disk; says nothing if
  // that fails, as a left-over is removed at the next start.
  virtual void Discard(absl::string_view directory) = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_CHECKPOINT_STORE_H_
