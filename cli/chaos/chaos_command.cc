#include "cli/chaos/chaos_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/chaos/chaos_view.h"
#include "cli/chaos/rehearsal.h"
#include "cli/exit_code.h"
#include "cli/prepare_run.h"
#include "cli/print_error.h"
#include "cli/this_program.h"
#include "common/posix_file_env.h"
#include "common/status.h"

namespace selari {
namespace {

// The output folder is new, or empty: rounds of an older rehearsal are no part
// of this one.
absl::Status CheckIsEmpty(const std::string& output) {
  std::error_code error;
  if (output.empty() || !std::filesystem::exists(output, error) ||
      std::filesystem::is_empty(output, error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--output ", output, " is not empty; name a new folder"));
}

absl::StatusOr<bool> Rehearse(const ChaosCommand& command,
                              const Signals& signals) {
  PosixFileEnv env;
  SELARI_RETURN_IF_ERROR(CheckIsEmpty(command.job.output));
  SELARI_ASSIGN_OR_RETURN(PreparedRun run,
                          PrepareRun(env, command.job, DataPlace::kHere));
  if (run.job.job().cluster().servers() == 0) {
    return absl::InvalidArgumentError(
        "cluster.servers is 0: in one process there is nobody to kill; add "
        "--servers and --workers");
  }
  SELARI_ASSIGN_OR_RETURN(std::string program, ThisProgram());
  const std::unique_ptr<ChaosView> view =
      command.json ? MakeChaosJsonView(stdout) : MakeChaosTextView(stdout);
  const ChaosVerdict verdict =
      Rehearsal(command, std::move(run), std::move(program), view.get(),
                signals.stop())
          .Run();
  view->OnVerdict(verdict);
  return verdict.pass;
}

}  // namespace

int RunChaosCommand(const ChaosCommand& command, Signals* signals) {
  const absl::StatusOr<bool> passed = Rehearse(command, *signals);
  if (!passed.ok()) {
    PrintError(passed.status());
    return ExitCodeOf(passed.status());
  }
  if (signals->received() != 0) {
    return kExitSignal + signals->received();
  }
  return *passed ? kExitOk : kExitFailed;
}

}  // namespace selari
