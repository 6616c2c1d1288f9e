#include "server/checkpoint/state_digest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/sha256.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/tensor.pb.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/stream_array.h"

namespace selari {

absl::StatusOr<std::string> StateDigest(CheckpointReader& reader) {
  const v1::CheckpointManifest& manifest = reader.manifest();
  Sha256 hash;
  hash.UpdateInt64(manifest.step());
  hash.UpdateInt64(reader.slot_count());
  hash.UpdateInt64(manifest.job().tensors_size());
  for (int32_t tensor = 0; tensor < manifest.job().tensors_size(); ++tensor) {
    const v1::TensorSpec& spec = manifest.job().tensors(tensor);
    hash.UpdateInt64(static_cast<int64_t>(spec.name().size()));
    hash.Update(spec.name());
    hash.UpdateInt64(spec.shape_size());
    for (const int64_t extent : spec.shape()) {
      hash.UpdateInt64(extent);
    }
    for (int32_t array = 0; array <= reader.slot_count(); ++array) {
      SELARI_RETURN_IF_ERROR(
          StreamArray(reader, tensor, array, [&hash](absl::string_view bytes) {
            hash.Update(bytes);
            return absl::OkStatus();
          }));
    }
  }
  return hash.FinishHex();
}

}  // namespace selari
