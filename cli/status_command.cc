// `selari status`.

#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/print_error.h"
#include "common/grpc_coordinator_client.h"
#include "common/human.h"
#include "common/status.h"
#include "google/protobuf/util/json_util.h"

namespace selari {
namespace {

constexpr int64_t kWatchMs = 1000;

std::string StateName(v1::JobState state) {
  const std::string name = v1::JobState_Name(state);
  return name.substr(std::string("JOB_STATE_").size());
}

std::string MemberText(const v1::MemberStatus& member) {
  const bool server = member.kind() == v1::MEMBER_KIND_SERVER;
  const std::string silent = HumanSeconds(member.silent_ms() * 1e-3);
  std::string text =
      absl::StrCat(server ? "server " : "worker ", member.member_id(),
                   member.alive() ? "  alive, heard of " : "  missing for ",
                   silent, member.alive() ? " ago" : "");
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

std::string StatusText(const v1::JobStatus& status) {
  std::string text =
      absl::StrCat("job ", status.job_id(), "  ", StateName(status.state()),
                   "  step ", status.step());
  if (status.total_steps() > 0) {
    absl::StrAppend(&text, "/", status.total_steps());
  }
  text += "\n";
  if (!status.message().empty()) {
    absl::StrAppend(&text, status.message(), "\n");
  }
  if (status.metrics_size() > 0) {
    const v1::StepMetrics& m = status.metrics(status.metrics_size() - 1);
    absl::StrAppendFormat(&text, "step %d  loss %.4f  accuracy %.4f\n",
                          m.step() + 1, m.loss(), m.accuracy());
  }
  for (const v1::MemberStatus& member : status.members()) {
    text += MemberText(member);
  }
  if (!status.checkpoint().empty()) {
    absl::StrAppend(&text, "checkpoint of step ", status.checkpoint_step(),
                    " in ", status.checkpoint(), "\n");
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

bool Ended(v1::JobState state) {
  return state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
         state == v1::JOB_STATE_FAILED;
}

absl::Status Show(const StatusCommand& command, const StopToken& stop) {
  const auto client = MakeGrpcCoordinatorClient({command.coordinator});
  bool shown = false;
  while (true) {
    const absl::StatusOr<v1::JobStatus> status = client->GetJobStatus();
    if (!status.ok()) {
      // A coordinator exits when its job has ended.
      return shown
                 ? absl::OkStatus()
                 : Annotate(status.status(), absl::StrCat("the coordinator at ",
                                                          command.coordinator));
    }
    shown = true;
    std::string text = StatusText(*status);
    if (command.json) {
      SELARI_ASSIGN_OR_RETURN(text, AsJson(*status));
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    if (!command.watch || Ended(status->state()) || stop.WaitForMs(kWatchMs)) {
      return absl::OkStatus();
    }
  }
}

}  // namespace

int RunStatusCommand(const StatusCommand& command, Signals* signals) {
  const absl::Status status = Show(command, *signals->stop());
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

}  // namespace selari
