// Where a job comes from, for the commands that start one.

#ifndef SELARI_CLI_JOB_OPTIONS_H_
#define SELARI_CLI_JOB_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace selari {

struct JobOptions {
  std::string job_file;
  std::vector<std::string> assignments;  // --set field=value, in order
  bool centralised = false;
  int32_t servers = -1;  // -1: as the job file says
  int32_t workers = -1;  // -1: as the job file says
  int64_t steps = -1;    // -1: as the job file says
  std::string output;    // folder; empty: a new one below selari-output
  bool resume = false;   // go on from the newest checkpoint in output
  // What the user called: a path, or a name that the shell finds.
  std::string program = "selari";
};

}  // namespace selari

#endif  // SELARI_CLI_JOB_OPTIONS_H_
