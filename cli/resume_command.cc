#include "cli/resume_command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/job_arguments.h"

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
  std::string text = absl::StrCat(Quoted(job.program), " ", command);
  for (const std::string& word : JobArguments(job)) {
    absl::StrAppend(&text, " ", Quoted(word));
  }
  return absl::StrCat(text, " --output ", Quoted(output_dir), " --resume");
}

}  // namespace selari
