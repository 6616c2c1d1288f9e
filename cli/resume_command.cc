#include "cli/resume_command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace selari {
namespace {

// As a POSIX shell reads it back.
std::string Quoted(absl::string_view text) {
  constexpr absl::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) {
    return std::string(text);
  }
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string ResumeCommand(absl::string_view command, const JobOptions& job,
                          absl::string_view output_dir) {
  std::string text = absl::StrCat(Quoted(job.program), " ", command, " ",
                                  Quoted(job.job_file));
  for (const std::string& assignment : job.assignments) {
    absl::StrAppend(&text, " --set ", Quoted(assignment));
  }
  const auto add = [&text](absl::string_view flag, int64_t value) {
    if (value >= 0) {
      absl::StrAppend(&text, " ", flag, " ", value);
    }
  };
  if (job.centralised) {
    absl::StrAppend(&text, " --centralised");
  }
  add("--servers", job.servers);
  add("--workers", job.workers);
  add("--steps", job.steps);
  return absl::StrCat(text, " --output ", Quoted(output_dir), " --resume");
}

}  // namespace selari
