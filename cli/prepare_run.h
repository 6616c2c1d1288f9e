// From the command line and a job file to a run that can start: the job with
// its changes and defaults, what its data and model come to, its output
// folder, and the checkpoint to go on from.

#ifndef SELARI_CLI_PREPARE_RUN_H_
#define SELARI_CLI_PREPARE_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/command_line.h"
#include "cli/resolve_job.h"
#include "common/file_env.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct PreparedRun {
  v1::ResolvedJob job;
  // Folder of the job file: relative paths of its data start here.
  std::string base_dir;
  // Absolute; exists.
  std::string output_dir;
  // Empty for a new run.
  std::string resume_checkpoint;
  int64_t start_step = 0;
};

// As the working folder has it; `path` itself when there is none.
std::string AbsolutePath(const std::string& path);

// Blocks while it looks at the data. INVALID_ARGUMENT for what the user wrote:
// also an output folder that holds another run, a checkpoint of another model
// or an instruction set that this processor lacks. NOT_FOUND for missing files.
absl::StatusOr<PreparedRun> PrepareRun(FileEnv& env, const JobOptions& options,
                                       DataPlace place);

// PrepareRun is both of these, one after the other: whoever has more to check
// does so between them, before a folder is made.
//
// The job without an output folder: nothing is written, nothing resumed.
absl::StatusOr<PreparedRun> PrepareJob(FileEnv& env, const JobOptions& options,
                                       DataPlace place);
// The output folder and what is resumed.
absl::Status PrepareOutput(FileEnv& env, const JobOptions& options,
                           PreparedRun* run);

}  // namespace selari

#endif  // SELARI_CLI_PREPARE_RUN_H_
