// MetadataStore: the small, precious state of a coordinator, as versioned
// values under flat keys. A file for each key by default; a store that several
// coordinators share when one must stand by.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_COORDINATOR_METADATA_STORE_H_
#define SELARI_SERVER_COORDINATOR_METADATA_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

struct MetadataValue {
  std::string bytes;
  // Rises with every change of the key, from 1.
  int64_t version = 0;
};

// Keys: 1 to 100 characters of [a-z0-9_-]. Values: at most 16 MiB. Anything
// else is INVALID_ARGUMENT. A change is durable when its call returns OK;
// after an error it may or may not have happened.
class MetadataStore {
 public:
  static constexpr int64_t kValueBytesMax = int64_t{16} << 20;

  virtual ~MetadataStore() = default;

  // NOT_FOUND when there is no such key, DATA_LOSS when it is damaged.
  [[nodiscard]] virtual absl::StatusOr<MetadataValue> Get(
      absl::string_view key) = 0;

  // Sets the value whatever was there, and tells its version.
  [[nodiscard]] virtual absl::StatusOr<int64_t> Put(
      absl::string_view key, absl::string_view bytes) = 0;

  // Sets the value if the key's version is `expected_version`, 0 for a key
  // that does not exist, and tells its new version. ABORTED, naming both
  // versions, otherwise: read again and decide anew.
  [[nodiscard]] virtual absl::StatusOr<int64_t> CompareAndSwap(
      absl::string_view key, int64_t expected_version,
      absl::string_view bytes) = 0;

  // All keys, ascending.
  [[nodiscard]] virtual absl::StatusOr<std::vector<std::string>> List() = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_METADATA_STORE_H_
