#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/fuzz/fuzz_seeds.h"
#include "worker/data/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  selari::CsvOptions options;
  (void)selari::ParseCsv("fuzz", text, options).ok();
  options.label_column = "y";
  options.class_labels = false;
  (void)selari::ParseCsv("fuzz", text, options).ok();
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  return {
      "a,y,b\n1,0,2.5\n-3e1,7,+4\n",
      "\xEF\xBB\xBF\"a,\"\"1\"\"\",y\r\n\" 4\",1\r\n\r\n5,0",
      "a,y\n,\n",
  };
}
