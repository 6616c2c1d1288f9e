#include "server/checkpoint/stream_array.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {
namespace {

constexpr int64_t kBlockFloats = int64_t{1} << 18;

}  // namespace

absl::Status StreamArray(
    CheckpointReader& reader, int32_t tensor, int32_t array,
    absl::FunctionRef<absl::Status(absl::string_view bytes)> take) {
  const int64_t count = reader.ElementCount(tensor);
  std::vector<float> block(
      static_cast<std::size_t>(std::min(count, kBlockFloats)));
  CheckpointReader::Place place;
  place.tensor = tensor;
  place.array = array;
  while (place.offset < count) {
    const auto size =
        static_cast<std::size_t>(std::min(kBlockFloats, count - place.offset));
    const absl::Span<float> part = absl::MakeSpan(block).subspan(0, size);
    SELARI_RETURN_IF_ERROR(reader.Read(place, part));
    SELARI_RETURN_IF_ERROR(take(absl::string_view(
        reinterpret_cast<const char*>(part.data()), size * sizeof(float))));
    place.offset += static_cast<int64_t>(size);
  }
  return absl::OkStatus();
}

}  // namespace selari
