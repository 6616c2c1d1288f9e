#include "cli/bench/process_memory.h"

#include <malloc.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/human.h"
#include "common/status.h"

namespace selari {
namespace {

std::string ReadText(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number of the line "name:   123 kB", in bytes.
int64_t BytesOf(absl::string_view text, absl::string_view name) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (parts.first != name) {
      continue;
    }
    const std::vector<absl::string_view> words =
        absl::StrSplit(parts.second, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t kibibytes = 0;
    if (words.size() == 2 && words[1] == "kB" &&
        absl::SimpleAtoi(words[0], &kibibytes)) {
      return kibibytes * 1024;
    }
  }
  return 0;
}

}  // namespace

ProcessMemory ReadProcessMemory() {
  return ParseProcessMemory(ReadText("/proc/self/status"));
}

ProcessMemory ParseProcessMemory(absl::string_view status) {
  return {BytesOf(status, "VmRSS"), BytesOf(status, "VmHWM"),
          BytesOf(status, "RssShmem")};
}

void ResetMemoryPeak() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}

absl::Status CheckFreeMemory(int64_t bytes, absl::string_view what) {
  const int64_t free = BytesOf(ReadText("/proc/meminfo"), "MemAvailable");
  if (free > 0 && bytes > free) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " needs ", HumanBytes(bytes), " of memory, ",
                     HumanBytes(free), " are free"));
  }
  return absl::OkStatus();
}

}  // namespace selari
