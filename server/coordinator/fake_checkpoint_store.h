// FakeCheckpointStore: remembers what was published, without files.

#ifndef SELARI_SERVER_COORDINATOR_FAKE_CHECKPOINT_STORE_H_
#define SELARI_SERVER_COORDINATOR_FAKE_CHECKPOINT_STORE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/checkpoint_store.h"

namespace selari {

class FakeCheckpointStore : public CheckpointStore {
 public:
  std::string AttemptDirectory(int64_t step) override {
    return absl::StrCat("/attempt-", ++attempts_, "-step-", step);
  }
  absl::StatusOr<PublishedCheckpoint> Publish(
      absl::string_view /*directory*/,
      v1::CheckpointManifest manifest) override {
    if (!next_error.ok()) {
      return next_error;
    }
    published.push_back(manifest);
    return PublishedCheckpoint{absl::StrCat("/step-", manifest.step()),
                               manifest.step(), "digest"};
  }
  void Discard(absl::string_view directory) override {
    discarded.emplace_back(directory);
  }

  absl::Status next_error;
  std::vector<v1::CheckpointManifest> published;
  std::vector<std::string> discarded;

 private:
  int attempts_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_FAKE_CHECKPOINT_STORE_H_
