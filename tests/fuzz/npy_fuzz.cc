#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"
#include "worker/data/encoded_array.h"
#include "worker/data/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = selari::ParseNpy(
      "fuzz", std::string(reinterpret_cast<const char*>(data), size));
  if (array.ok()) {
    (void)selari::ToFloats(*array).ok();
    (void)selari::ToLabels(*array).ok();
  }
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), } \n";
  const char length = static_cast<char>(dictionary.size());
  return {
      "\x93NUMPY" + std::string("\x01\0", 2) + length + '\0' + dictionary +
          "12345678",
      "\x93NUMPY" + std::string("\x02\0", 2) + length +
          std::string("\0\0\0", 3) + dictionary + "12345678",
  };
}
