#include "cli/chaos/ledger_run.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/chaos/json_lines.h"
#include "cli/chaos/ledger_page.h"
#include "cli/chaos/ledger_pusher.h"
#include "cli/subprocess.h"
#include "common/grpc_coordinator_client.h"
#include "common/status.h"
#include "google/protobuf/text_format.h"

namespace selari {
namespace {

constexpr int64_t kTickMs = 20;
constexpr int64_t kCheckpointEveryMs = 700;
constexpr int64_t kSaveTimeoutMs = 20'000;
constexpr int64_t kStartTimeoutMs = 20'000;
constexpr int64_t kEndTimeoutMs = 30'000;
// Short, so that one that is paused for longer loses it.
constexpr int32_t kLeaseMs = 1'000;
// Between the last fault and the end all workers get to the same round.
constexpr int64_t kRoundsToEnd = 16;
// One fault in so many takes all servers.
constexpr uint64_t kAllServersOneIn = 4;
// Small pages go in messages, the wide one through shared memory.
constexpr int64_t kSmallCells = 40;
constexpr int64_t kWideCells = 40'000;

v1::Job LedgerJob(const LedgerOptions& options,
                  const std::vector<LedgerPage>& pages) {
  v1::Job job;
  job.set_name("ledger");
  job.set_seed(1);
  for (size_t i = 0; i < pages.size(); ++i) {
    v1::TensorSpec* tensor =
        job.mutable_model()->mutable_custom()->add_tensors();
    tensor->set_name(absl::StrCat("page", i));
    tensor->add_shape(pages[i].size());
    tensor->mutable_initializer()->set_constant(0);
  }
  job.mutable_optimizer()->mutable_sgd();
  job.mutable_optimizer()->set_learning_rate(1);
  job.mutable_training()->set_leaf_count(options.workers);
  *job.mutable_consistency() = options.consistency;
  job.mutable_cluster()->set_servers(options.servers);
  job.mutable_cluster()->set_workers(options.workers);
  job.mutable_cluster()->set_shard_count(2 * options.servers);
  job.mutable_cluster()->set_lease_ms(kLeaseMs);
  job.mutable_cluster()->set_join_timeout_s(60);
  job.mutable_checkpointing()->set_durability(options.durability);
  return job;
}

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);

  LedgerResult Run();

 private:
  struct Server {
    std::unique_ptr<Subprocess> process;
    double paused_until = 0;  // 0: runs
  };

  absl::Status Start();
  absl::Status StartServer(size_t id);
  absl::StatusOr<std::string> WaitForAddress();
  void StartPushers();
  absl::Status DisturbUntilEnd();
  absl::Status Revive();
  void Disturb();
  bool Do(const Fault& fault, size_t id);
  absl::Status JoinPushers();
  absl::Status EndProcesses();
  void Count();

  const LedgerOptions& options_;
  std::vector<LedgerPage> pages_;
  LedgerShared shared_;
  LedgerResult result_;
  std::string address_;
  std::unique_ptr<Subprocess> coordinator_;
  std::vector<Server> servers_;
  std::vector<std::thread> pushers_;
  std::vector<absl::Status> pusher_status_;
};

Ledger::Ledger(const LedgerOptions& options)
    : options_(options),
      pages_(static_cast<size_t>(4 * options.servers),
             LedgerPage{options.workers, kSmallCells}),
      shared_(options.workers),
      servers_(static_cast<size_t>(options.servers)),
      pusher_status_(static_cast<size_t>(options.workers)) {
  pages_.push_back({options.workers, kWideCells});
}

absl::Status Ledger::Start() {
  std::error_code error;
  std::filesystem::create_directories(options_.folder, error);
  const std::string job_file = absl::StrCat(options_.folder, "/job.textproto");
  std::string text;
  google::protobuf::TextFormat::PrintToString(LedgerJob(options_, pages_),
                                              &text);
  if (error || !(std::ofstream(job_file) << text)) {
    return absl::InternalError(absl::StrCat("cannot write ", job_file));
  }
  SELARI_ASSIGN_OR_RETURN(
      coordinator_,
      Subprocess::Start(
          "coordinator",
          {options_.program, "coordinator", job_file, "--listen", "127.0.0.1:0",
           "--json", "--output", absl::StrCat(options_.folder, "/out")},
          absl::StrCat(options_.folder, "/coordinator.jsonl")));
  SELARI_ASSIGN_OR_RETURN(address_, WaitForAddress());
  for (size_t id = 0; id < servers_.size(); ++id) {
    SELARI_RETURN_IF_ERROR(StartServer(id));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Ledger::WaitForAddress() {
  JsonLines lines(absl::StrCat(options_.folder, "/coordinator.jsonl"));
  for (int64_t ms = 0; ms < kStartTimeoutMs; ms += kTickMs) {
    for (const nlohmann::json& event : lines.Read()) {
      if (event.value("event", "") == "start") {
        return event.value("coordinator", "");
      }
    }
    if (coordinator_->WaitFor(kTickMs).has_value()) {
      break;
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "the ledger's coordinator did not start: ", coordinator_->LogTail(400)));
}

absl::Status Ledger::StartServer(size_t id) {
  SELARI_ASSIGN_OR_RETURN(
      servers_[id].process,
      Subprocess::Start(absl::StrCat("server-", id),
                        {options_.program, "server", "--coordinator", address_,
                         "--id", absl::StrCat(id)},
                        absl::StrCat(options_.folder, "/server-", id, ".log")));
  servers_[id].paused_until = 0;
  return absl::OkStatus();
}

void Ledger::StartPushers() {
  for (int32_t id = 0; id < options_.workers; ++id) {
    pushers_.emplace_back([this, id] {
      pusher_status_[static_cast<size_t>(id)] =
          LedgerPusher({address_, id, pages_, &shared_}).Run();
    });
  }
}

// As a supervisor does: whatever has ended is started again.
absl::Status Ledger::Revive() {
  for (size_t id = 0; id < servers_.size(); ++id) {
    Server& server = servers_[id];
    if (server.paused_until > 0 && options_.seconds() >= server.paused_until) {
      kill(server.process->pid(), SIGCONT);
      server.paused_until = 0;
    }
    if (server.process->Poll().has_value()) {
      SELARI_RETURN_IF_ERROR(StartServer(id));
    }
  }
  return absl::OkStatus();
}

bool Ledger::Do(const Fault& fault, size_t id) {
  Server& server = servers_[id];
  // Our own child: its pid is its own until it is waited for.
  if (server.process->Poll().has_value() || server.paused_until > 0) {
    return false;
  }
  kill(server.process->pid(), IsKill(fault.kind) ? SIGKILL : SIGSTOP);
  if (!IsKill(fault.kind)) {
    server.paused_until = options_.seconds() + fault.pause_seconds;
  }
  result_.faults.push_back(fault.kind);
  ++result_.count.faults;
  options_.view->OnFault({fault.kind, absl::StrCat("server ", id),
                          options_.seconds(), fault.pause_seconds,
                          shared_.done.front().load()});
  return true;
}

void Ledger::Disturb() {
  const Fault& fault = options_.plan->next();
  if (fault.at_seconds > options_.seconds()) {
    return;
  }
  const bool all = (fault.choice >> 32) % kAllServersOneIn == 0;
  bool done = false;
  for (size_t id = 0; id < servers_.size(); ++id) {
    if (all || id == fault.choice % servers_.size()) {
      done = Do(fault, id) || done;
    }
  }
  if (done) {  // else tried again in the next tick
    options_.plan->Advance(options_.seconds());
  }
}

absl::Status Ledger::DisturbUntilEnd() {
  while (options_.seconds() < options_.end_seconds && !shared_.failed.load()) {
    if (options_.stop->WaitForMs(kTickMs)) {
      return absl::CancelledError("stopped");
    }
    if (coordinator_->Poll().has_value()) {
      return absl::AbortedError(absl::StrCat("the ledger's coordinator ended: ",
                                             coordinator_->LogTail(400)));
    }
    SELARI_RETURN_IF_ERROR(Revive());
    Disturb();
  }
  return absl::OkStatus();
}

absl::Status Ledger::JoinPushers() {
  int64_t round = 0;
  for (const std::atomic<int64_t>& done : shared_.done) {
    round = std::max(round, done.load());
  }
  shared_.end_round.store(round + kRoundsToEnd);
  // Paused servers go on, and each is there, until all workers have ended: they
  // give up by themselves where one is not.
  std::atomic<bool> joined{false};
  std::thread waiter([&] {
    for (std::thread& pusher : pushers_) {
      pusher.join();
    }
    joined.store(true);
  });
  absl::Status revived;
  const StopToken never;
  while (!joined.load()) {
    never.WaitForMs(kTickMs);
    if (revived.ok()) {
      revived = Revive();
    }
  }
  waiter.join();
  SELARI_RETURN_IF_ERROR(revived);
  absl::Status first;
  for (const absl::Status& status : pusher_status_) {
    // One that says what is wrong comes before those that ended with it.
    if (absl::IsDataLoss(status)) {
      return status;
    }
    if (first.ok()) {
      first = status;
    }
  }
  return first;
}

absl::Status Ledger::EndProcesses() {
  const auto client = MakeGrpcCoordinatorClient(
      {address_, /*call_timeout_ms=*/5'000, kSaveTimeoutMs});
  SELARI_RETURN_IF_ERROR(
      Annotate(client->StopJob().status(), "stopping the ledger's job"));
  const auto check = [](Subprocess* process) {
    const std::optional<int> code = process->WaitFor(kEndTimeoutMs);
    return code == 0 ? absl::OkStatus()
                     : absl::AbortedError(absl::StrCat(
                           "the ledger's ", process->name(),
                           code.has_value()
                               ? absl::StrCat(" ended with exit code ", *code)
                               : absl::StrCat(" did not end within ",
                                              kEndTimeoutMs / 1000, " s"),
                           ": ", process->LogTail(400)));
  };
  SELARI_RETURN_IF_ERROR(check(coordinator_.get()));
  for (const Server& server : servers_) {
    SELARI_RETURN_IF_ERROR(check(server.process.get()));
  }
  return absl::OkStatus();
}

void Ledger::Count() {
  for (const std::atomic<int64_t>& done : shared_.done) {
    result_.count.acknowledged +=
        done.load() * static_cast<int64_t>(pages_.size());
  }
  result_.count.lost = shared_.lost.load();
  result_.count.doubled = shared_.doubled.load();
}

LedgerResult Ledger::Run() {
  result_.status = Start();
  if (!result_.status.ok()) {
    return std::move(result_);
  }
  StartPushers();
  StopToken saving_ends;
  std::thread saver([this, &saving_ends] {
    const auto client = MakeGrpcCoordinatorClient(
        {address_, /*call_timeout_ms=*/5'000, kSaveTimeoutMs});
    while (!saving_ends.WaitForMs(kCheckpointEveryMs)) {
      // Fails while a server is away; what matters is what it leaves behind.
      (void)client->SaveCheckpoint();
    }
  });
  result_.status = DisturbUntilEnd();
  const absl::Status pushed = JoinPushers();
  saving_ends.RequestStop();
  saver.join();
  Count();
  if (result_.status.ok()) {
    result_.status = pushed;
  }
  if (result_.status.ok()) {
    result_.status = EndProcesses();
  }
  return std::move(result_);
}

}  // namespace

LedgerResult RunLedger(const LedgerOptions& options) {
  return Ledger(options).Run();
}

}  // namespace selari
