#include "cli/chaos/train_process.h"

#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "cli/job_arguments.h"
#include "common/status.h"

namespace selari {
namespace {

using Json = nlohmann::json;

std::vector<std::string> Arguments(const std::string& program,
                                   const JobOptions& job) {
  std::vector<std::string> words = JobArguments(job);
  words.insert(words.begin(), {program, "train"});
  words.insert(words.end(), {"--output", job.output, "--json"});
  if (job.resume) {
    words.emplace_back("--resume");
  }
  return words;
}

std::string TextOf(const Json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_string() ? found->get<std::string>()
                                                    : "";
}

double NumberOf(const Json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

TrainResult ResultOf(const Json& summary) {
  TrainResult result;
  result.state = TextOf(summary, "state");
  result.message = TextOf(summary, "message");
  result.digest = TextOf(summary, "digest");
  result.steps = static_cast<int64_t>(NumberOf(summary, "steps"));
  result.seconds = NumberOf(summary, "seconds");
  result.samples_per_second = NumberOf(summary, "samples_per_second");
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainProcess>> TrainProcess::Start(
    const std::string& program, const JobOptions& job,
    const std::string& log_path) {
  SELARI_ASSIGN_OR_RETURN(
      std::unique_ptr<Subprocess> process,
      Subprocess::Start("train", Arguments(program, job), log_path));
  return absl::WrapUnique(new TrainProcess(std::move(process), log_path));
}

void TrainProcess::Poll() {
  // First whether it has ended: what it says before that is then all there.
  exit_code_ = process_->Poll();
  for (const Json& event : events_.Read()) {
    const std::string kind = TextOf(event, "event");
    if (kind == "start") {
      coordinator_ = TextOf(event, "coordinator");
    } else if (kind == "summary") {
      result_ = ResultOf(event);
    }
  }
}

std::string TrainProcess::LastWords() const {
  if (result_.has_value() && !result_->message.empty()) {
    return result_->message;
  }
  return process_->LastLogLine();
}

}  // namespace selari
