// What the command line says to `selari chaos`.

#ifndef SELARI_CLI_CHAOS_CHAOS_OPTIONS_H_
#define SELARI_CLI_CHAOS_CHAOS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/job_options.h"

namespace selari {

struct ChaosCommand {
  JobOptions job;
  double minutes = 1;
  double every_seconds = 5;  // between two faults, on average
  // Names of FaultKind (fault_plan.h).
  std::vector<std::string> faults = {"kill-server", "kill-worker"};
  int64_t seed = 1;
  bool json = false;
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_CHAOS_OPTIONS_H_
