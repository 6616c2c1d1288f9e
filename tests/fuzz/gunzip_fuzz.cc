#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"
#include "worker/data/gunzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)selari::MaybeGunzip(
      "fuzz", std::string(reinterpret_cast<const char*>(data), size), 1 << 20)
      .ok();
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  // printf 'some text, some text' | gzip -n, once and twice.
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x2b\xce"
      "\xcf\x4d\x55\x28\x49\xad\x28\xd1\x51\x28\x86\x31"
      "\x01\xf4\xba\x34\xea\x14\x00\x00\x00",
      33);
  return {packed, packed + packed, "not packed"};
}
