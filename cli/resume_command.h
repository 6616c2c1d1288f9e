// The command that goes on with a run that ended too early, for people to
// paste into a shell.
//
// Thread safety: pure function.

#ifndef SELARI_CLI_RESUME_COMMAND_H_
#define SELARI_CLI_RESUME_COMMAND_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cli/command_line.h"

namespace selari {

// `command` is "train" or "coordinator", `job` what it was given, `output_dir`
// the folder it wrote to. Fields that were changed by --set are changed again.
std::string ResumeCommand(absl::string_view command, const JobOptions& job,
                          absl::string_view output_dir);

}  // namespace selari

#endif  // SELARI_CLI_RESUME_COMMAND_H_
