// JobArguments: the words that say again what a command was told about its job.
//
// Thread safety: pure function.

#ifndef SELARI_CLI_JOB_ARGUMENTS_H_
#define SELARI_CLI_JOB_ARGUMENTS_H_

#include <string>
#include <vector>

#include "cli/job_options.h"

namespace selari {

// The job file and its changes, without --output and --resume.
std::vector<std::string> JobArguments(const JobOptions& job);

}  // namespace selari

#endif  // SELARI_CLI_JOB_ARGUMENTS_H_
