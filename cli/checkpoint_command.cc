// `selari checkpoint list`, `verify` and `save`.

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/path_check.h"
#include "cli/print_error.h"
#include "cli/write_out.h"
#include "common/grpc_coordinator_client.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/describe.h"

namespace selari {
namespace {

absl::Status List(const std::string& output_dir) {
  PosixFileEnv env;
  SELARI_RETURN_IF_ERROR(
      CheckFolder(output_dir, output_dir, "name a run's output folder"));
  SELARI_RETURN_IF_ERROR(CheckIsRunOrCheckpoint(env, output_dir));
  const std::string dir = CheckpointsDir(output_dir);
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, dir));
  if (checkpoints.empty()) {
    SELARI_RETURN_IF_ERROR(CheckIsNoCheckpoint(env, output_dir));
    return NoCheckpointError(dir);
  }
  return WriteOut(DescribeCheckpoints(checkpoints));
}

// For a run, its newest checkpoint even if it is damaged: that is the question.
absl::StatusOr<std::string> NewestOf(FileEnv& env, const std::string& path) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, CheckpointsDir(path)));
  if (checkpoints.empty()) {
    return path;
  }
  return checkpoints.back().path;
}

absl::Status Verify(const std::string& path) {
  PosixFileEnv env;
  SELARI_RETURN_IF_ERROR(CheckIsRunOrCheckpoint(env, path));
  SELARI_ASSIGN_OR_RETURN(const std::string dir, NewestOf(env, path));
  const VerifyReport report = VerifyCheckpoint(env, dir);
  if (report.problems.size() == 1) {
    return report.status;
  }
  absl::Status written = WriteOut(DescribeVerification(dir, report));
  if (report.status.ok() || !written.ok()) {
    return written;
  }
  return absl::Status(report.status.code(),
                      absl::StrCat("\"", dir, "\" is damaged: the ",
                                   report.problems.size(), " problems above"));
}

absl::Status Save(const std::string& address) {
  const auto client = MakeGrpcCoordinatorClient({address});
  const absl::StatusOr<v1::SaveCheckpointResponse> saved =
      client->SaveCheckpoint();
  if (!saved.ok()) {
    return Annotate(saved.status(),
                    absl::StrCat("the coordinator at ", address));
  }
  return WriteOut(absl::StrCat("step ", saved->step(), "  checkpoint in ",
                               saved->path(), "\n"));
}

absl::Status Run(const CheckpointCommand& command) {
  switch (command.action) {
    case CheckpointCommand::Action::kList:
      return List(command.path);
    case CheckpointCommand::Action::kVerify:
      return Verify(command.path);
    case CheckpointCommand::Action::kSave:
      return Save(command.coordinator);
  }
  return absl::InternalError("unknown action");
}

}  // namespace

int RunCheckpointCommand(const CheckpointCommand& command) {
  const absl::Status status = Run(command);
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

}  // namespace selari
