#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"
#include "worker/data/encoded_array.h"
#include "worker/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = selari::ParseIdx(
      "fuzz", std::string(reinterpret_cast<const char*>(data), size));
  if (array.ok()) {
    (void)selari::ToFloats(*array).ok();
    (void)selari::ToLabels(*array).ok();
  }
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  return {
      std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03", 16) + "abcdef",
      std::string("\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0", 12),
      std::string("\0\0\x0b\x01\0\0\0\x01\x01\0", 10),
  };
}
