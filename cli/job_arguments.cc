#include "cli/job_arguments.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace selari {

std::vector<std::string> JobArguments(const JobOptions& job) {
  std::vector<std::string> words = {job.job_file};
  for (const std::string& assignment : job.assignments) {
    words.insert(words.end(), {"--set", assignment});
  }
  const auto add = [&words](const char* flag, int64_t value) {
    if (value >= 0) {
      words.insert(words.end(), {flag, absl::StrCat(value)});
    }
  };
  if (job.centralised) {
    words.emplace_back("--centralised");
  }
  add("--servers", job.servers);
  add("--workers", job.workers);
  add("--steps", job.steps);
  return words;
}

}  // namespace selari
