#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/safetensors_header.h"
#include "common/tensor_file.h"
#include "server/checkpoint/shard_file.h"
#include "tests/fuzz/fuzz_seeds.h"

// The input is a whole safetensors file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view file(reinterpret_cast<const char*>(data), size);
  const auto json_bytes = selari::ParseSafetensorsPrefix(
      file.substr(0, 8), static_cast<int64_t>(size));
  if (!json_bytes.ok()) {
    return 0;
  }
  const absl::string_view json =
      file.substr(8, static_cast<size_t>(*json_bytes));
  const auto header = selari::ParseSafetensorsHeader(
      json, static_cast<int64_t>(size - 8 - json.size()));
  if (header.ok()) {
    (void)selari::ParseShardFileIndex(*header).ok();
  }
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  const std::vector<TensorDeclaration> tensors = {
      {"w/chunk-00000000", ElementType::kF32, {2}},
      {"w/chunk-00000000/slots", ElementType::kF32, {1, 2}},
  };
  const std::string shard =
      *BuildSafetensorsHeader(tensors, {{"selari.format", "shard 1"},
                                        {"selari.job_id", "00ff"},
                                        {"selari.shard", "0"},
                                        {"selari.version", "7"},
                                        {"selari.slot_count", "1"},
                                        {"selari.chunks", "[[0,0,0,7]]"},
                                        {"selari.workers", "[[0,9,8,7]]"}});
  const std::string plain = *BuildSafetensorsHeader(
      {{"a", ElementType::kBF16, {2, 3}}, {"b", ElementType::kU8, {}}}, {});
  return {shard + "0123456789abcdef", plain + "0123456789abc"};
}
