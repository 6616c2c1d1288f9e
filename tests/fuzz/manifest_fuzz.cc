#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/sha256.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/manifest.h"
#include "tests/fuzz/fuzz_seeds.h"

// The input is a manifest without its checksum line: with it, no mutation
// would get past the checksum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  (void)selari::ParseManifest(
      absl::StrCat(body, "# sha256: ", selari::Sha256Hex(body), "\n"))
      .ok();
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  v1::CheckpointManifest manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  manifest.set_step(7);
  v1::ResolvedJob& job = *manifest.mutable_job();
  job.set_job_id("00ff");
  job.mutable_job()->mutable_cluster()->set_shard_count(1);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(4);
  v1::ShardFile& file = *manifest.add_shards();
  file.set_file_name("shard-00000.safetensors");
  file.set_size_bytes(100);
  file.set_sha256(Sha256Hex("x"));
  const std::string text = SerializeManifest(manifest);
  return {text.substr(0, text.rfind("# sha256")),
          "step: 7 shards { shard: 1 } job { tensors { shape: [1, 2] } }\n"};
}
