// A small job and its checkpoints for tests. Every element has its own value,
// a pure function of where it belongs, so that a test sees whatever comes out
// at the wrong place.

#ifndef SELARI_SERVER_CHECKPOINT_CHECKPOINT_FIXTURE_H_
#define SELARI_SERVER_CHECKPOINT_CHECKPOINT_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/shard_snapshot.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct ExampleOptions {
  int32_t shard_count = 3;
  // 0 as SGD, 2 as Adam.
  int32_t slot_count = 2;
  int64_t step = 7;
  std::string job_id = "00000000deadbeef";
};

// Three tensors: "dense1/w" (40, 30), "dense1/b" (30), "scale" (); 1,231
// elements, so that no shard count but 1 divides them.
v1::ResolvedJob ExampleJob(const ExampleOptions& options);

// The value of an element; array as in CheckpointReader::Place.
float ExampleValue(int32_t tensor, int32_t array, int64_t element);

// Each shard at version options.step, with two workers' sequences.
std::vector<ShardSnapshot> ExampleSnapshots(const ExampleOptions& options);

// A published checkpoint below `checkpoints_dir`; returns its folder.
absl::StatusOr<std::string> WriteExample(FileEnv& env,
                                         absl::string_view checkpoints_dir,
                                         const ExampleOptions& options);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_CHECKPOINT_FIXTURE_H_
