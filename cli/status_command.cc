// `selari status`.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/path_check.h"
#include "cli/print_error.h"
#include "cli/stored_status.h"
#include "cli/watch_job.h"
#include "cli/write_out.h"
#include "common/clock.h"
#include "common/file_env.h"
#include "common/grpc_coordinator_client.h"
#include "common/human.h"
#include "common/posix_file_env.h"
#include "common/printable.h"
#include "common/status.h"
#include "google/protobuf/util/json_util.h"

namespace selari {
namespace {

constexpr int64_t kWatchMs = 1000;

std::string StateName(v1::JobState state) {
  const std::string name = v1::JobState_Name(state);
  return name.substr(std::string("JOB_STATE_").size());
}

// `state` is the job's.
std::string LifeText(const v1::MemberStatus& member, v1::JobState state) {
  const std::string silent = HumanSeconds(member.silent_ms() * 1e-3);
  if (member.alive()) {
    return absl::StrCat("alive, heard of ", silent, " ago");
  }
  if (!member.joined()) {
    return absl::StrCat("has not joined yet, ", silent, " so far");
  }
  // Nobody misses it any more.
  if (member.finished() || state == v1::JOB_STATE_DONE ||
      state == v1::JOB_STATE_STOPPED) {
    return "has ended";
  }
  return absl::StrCat("missing for ", silent);
}

std::string MemberText(const v1::MemberStatus& member, v1::JobState state) {
  const bool server = member.kind() == v1::MEMBER_KIND_SERVER;
  std::string text =
      absl::StrCat(server ? "server " : "worker ", member.member_id(), "  ",
                   LifeText(member, state));
  if (server) {
    // A server that has not joined yet has no address.
    absl::StrAppend(&text, member.address().empty() ? "" : ", at ",
                    member.address());
  } else {
    absl::StrAppend(&text, ", step ", member.step(),
                    member.finished() ? ", finished" : "");
  }
  return text + "\n";
}

// `age` is a sentence, or empty.
std::string StatusText(const v1::JobStatus& status, absl::string_view age) {
  std::string text = absl::StrCat(
      "job ", Printable(status.job_name()), "  id ", status.job_id(), "  ",
      StateName(status.state()), "  step ", status.step());
  if (status.total_steps() > 0) {
    absl::StrAppend(&text, "/", status.total_steps());
  }
  text += "\n";
  if (!age.empty()) {
    absl::StrAppend(&text, age, "\n");
  }
  if (!status.message().empty()) {
    absl::StrAppend(&text, Printable(status.message()), "\n");
  }
  if (status.metrics_size() > 0) {
    const v1::StepMetrics& m = status.metrics(status.metrics_size() - 1);
    absl::StrAppendFormat(&text, "step %d  loss %.4f", m.step() + 1, m.loss());
    if (m.has_accuracy()) {
      absl::StrAppendFormat(&text, "  accuracy %.4f", m.accuracy());
    }
    text += "\n";
  }
  if (status.evaluations_size() > 0) {
    const v1::Evaluation& e = status.evaluations(status.evaluations_size() - 1);
    absl::StrAppendFormat(&text, "step %d  test loss %.4f", e.step(), e.loss());
    if (e.has_accuracy()) {
      absl::StrAppendFormat(&text, "  test accuracy %.4f", e.accuracy());
    }
    text += "\n";
  }
  for (const v1::MemberStatus& member : status.members()) {
    text += MemberText(member, status.state());
  }
  if (!status.checkpoint().empty()) {
    absl::StrAppend(&text, "checkpoint of step ", status.checkpoint_step(),
                    " in ", Printable(status.checkpoint()), "\ndigest ",
                    status.checkpoint_digest(), "\n");
  }
  return text;
}

absl::StatusOr<std::string> AsJson(const v1::JobStatus& status) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto result =
      google::protobuf::util::MessageToJsonString(status, &json, options);
  if (!result.ok()) {
    return absl::InternalError(result.ToString());
  }
  return json + "\n";
}

absl::Status Print(const StatusCommand& command, const v1::JobStatus& status,
                   absl::string_view age = "") {
  std::string text = StatusText(status, age);
  if (command.json) {
    SELARI_ASSIGN_OR_RETURN(text, AsJson(status));
  }
  return WriteOut(text);
}

// The coordinator within `selari train` listens on a port of its own.
absl::Status FromCoordinator(const StatusCommand& command,
                             const absl::Status& status) {
  const absl::Status annotated = Annotate(
      status, absl::StrCat("the coordinator at ", command.coordinator));
  return absl::IsUnavailable(status)
             ? absl::UnavailableError(absl::StrCat(
                   annotated.message(),
                   "; `train` says its coordinator's address when it starts; "
                   "or give the run's folder: --output DIR"))
             : annotated;
}

absl::Status Ask(const StatusCommand& command) {
  const auto client = MakeGrpcCoordinatorClient({command.coordinator});
  const absl::StatusOr<v1::JobStatus> status = client->GetJobStatus();
  return status.ok() ? Print(command, *status)
                     : FromCoordinator(command, status.status());
}

// Shows at most one status a second, and how it ended. As order does not
// matter to members, it waits for a coordinator that is not there yet.
absl::Status Watch(const StatusCommand& command, const StopToken& stop,
                   bool* failed) {
  const SystemClock clock;
  absl::Status printed;
  bool ended = false;
  int64_t next_ms = 0;
  WatchOptions options;
  options.coordinator = command.coordinator;
  options.log = PrintNote;
  const absl::Status watched =
      WatchJob(options, stop, [&](const v1::JobStatus& status) {
        ended = HasEnded(status.state());
        *failed = status.state() == v1::JOB_STATE_FAILED;
        if (ended || clock.NowMs() >= next_ms) {
          next_ms = clock.NowMs() + kWatchMs;
          printed = Print(command, status);
        }
        return printed.ok();
      });
  SELARI_RETURN_IF_ERROR(printed);
  // A stream may break behind the last status, as the coordinator exits.
  return ended ? absl::OkStatus() : watched;
}

// What the coordinator left for later.
absl::Status Read(const StatusCommand& command) {
  SELARI_RETURN_IF_ERROR(CheckFolder(absl::StrCat("--output ", command.output),
                                     command.output,
                                     "name a run's output folder"));
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const StoredStatus stored,
                          ReadStoredStatus(env, command.output));
  return Print(command, stored.status,
               DescribeAge(stored, SystemClock().WallTimeMs()));
}

}  // namespace

int RunStatusCommand(const StatusCommand& command, Signals* signals) {
  bool failed = false;
  const absl::Status status = !command.output.empty() ? Read(command)
                              : command.watch
                                  ? Watch(command, *signals->stop(), &failed)
                                  : Ask(command);
  if (!status.ok()) {
    PrintError(status);
    return ExitCodeOf(status);
  }
  return failed ? kExitFailed : kExitOk;
}

}  // namespace selari
