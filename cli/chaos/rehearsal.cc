#include "cli/chaos/rehearsal.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/chaos/ledger_run.h"
#include "cli/follow_run.h"
#include "common/human.h"
#include "common/job_reduction.h"

namespace selari {
namespace {

// Of the time, where a ledger is kept.
constexpr double kLedgerShare = 0.25;
// Faults of each of a ledger's runs, at least about so many.
constexpr double kLedgerFaults = 4;
// Beyond the time after which a job itself gives up.
constexpr double kHangSeconds = 60;

}  // namespace

Rehearsal::Rehearsal(const ChaosCommand& command, PreparedRun run,
                     std::string program, ChaosView* view,
                     const StopToken* stop)
    : command_(command),
      run_(std::move(run)),
      program_(std::move(program)),
      view_(view),
      stop_(stop) {
  for (const std::string& name : command.faults) {
    kinds_.push_back(*FaultOfName(name));  // the command line has looked
  }
}

// Since the faults began, or the undisturbed run.
double Rehearsal::Seconds() const { return NowSeconds() - begin_; }

void Rehearsal::Fail(absl::string_view reason) {
  if (verdict_.reason.empty()) {
    verdict_.reason = std::string(reason);
  }
}

bool Rehearsal::keeps_ledger() const {
  return run_.job.job().checkpointing().durability() ==
             v1::DURABILITY_JOURNALED &&
         !ServerFaults().empty();
}

std::vector<FaultKind> Rehearsal::ServerFaults() const {
  std::vector<FaultKind> kinds;
  std::copy_if(kinds_.begin(), kinds_.end(), std::back_inserter(kinds),
               IsOfServer);
  return kinds;
}

RoundOptions Rehearsal::Options(const std::string& name) {
  RoundOptions options;
  options.program = program_;
  options.job = command_.job;
  options.job.output = absl::StrCat(run_.output_dir, "/", name);
  options.log_stem = options.job.output;
  options.seconds = [this] { return Seconds(); };
  options.hang_seconds =
      kHangSeconds + run_.job.job().cluster().join_timeout_s();
  options.view = view_;
  options.stop = stop_;
  return options;
}

RoundResult Rehearsal::Train(const std::string& name, RoundOptions options) {
  RoundResult result = RunRound(options);
  verdict_.faults.insert(verdict_.faults.end(), result.faults.begin(),
                         result.faults.end());
  verdict_.next_step_seconds.insert(verdict_.next_step_seconds.end(),
                                    result.next_step_seconds.begin(),
                                    result.next_step_seconds.end());
  if (result.status.ok()) {
    view_->OnRound(name, result.train);
    // Its checkpoints; what its processes said stays.
    std::error_code error;
    std::filesystem::remove_all(options.job.output, error);
  } else {
    Fail(absl::StrCat(name, ": ", result.status.message(), "; see ",
                      options.job.output));
  }
  return result;
}

void Rehearsal::TrainUnderFaults(const RoundResult& undisturbed,
                                 double undisturbed_s) {
  const bool sync = IsSync(run_.job.job());
  FaultPlan plan(command_.seed, command_.every_seconds, kinds_);
  const double end_seconds =
      command_.minutes * 60 * (keeps_ledger() ? 1 - kLedgerShare : 1);
  double seconds = 0;
  while (Seconds() < end_seconds && verdict_.reason.empty()) {
    const std::string name = absl::StrCat("round-", verdict_.rounds + 1);
    RoundOptions options = Options(name);
    options.plan = &plan;
    options.end_seconds = end_seconds;
    const double begin = Seconds();
    const RoundResult result = Train(name, options);
    if (!result.status.ok()) {
      return;
    }
    ++verdict_.rounds;
    seconds += Seconds() - begin;
    if (sync) {
      const bool same = result.train.digest == undisturbed.train.digest;
      verdict_.same_digest = same && verdict_.same_digest.value_or(true);
      if (!same) {
        Fail(absl::StrCat(name, " ended with digest ", result.train.digest,
                          ", the undisturbed run with ",
                          undisturbed.train.digest));
      }
    }
  }
  if (seconds > 0) {
    verdict_.throughput =
        undisturbed_s / (seconds / static_cast<double>(verdict_.rounds));
  }
}

void Rehearsal::KeepLedgers() {
  v1::ConsistencyPolicy sync;
  sync.set_mode(v1::CONSISTENCY_SYNC);
  v1::ConsistencyPolicy bounded;
  bounded.set_mode(v1::CONSISTENCY_BOUNDED);
  bounded.set_staleness(2);
  v1::ConsistencyPolicy async;
  async.set_mode(v1::CONSISTENCY_ASYNC);
  const std::vector<std::pair<std::string, v1::ConsistencyPolicy>> modes = {
      {"SYNC", sync}, {"BOUNDED", bounded}, {"ASYNC", async}};
  const double each =
      command_.minutes * 60 * kLedgerShare / static_cast<double>(modes.size());
  FaultPlan plan(command_.seed,
                 std::min(command_.every_seconds, each / kLedgerFaults),
                 ServerFaults());
  for (const auto& [name, consistency] : modes) {
    if (!verdict_.reason.empty()) {
      return;
    }
    plan.Advance(Seconds());
    KeepLedger(consistency, name, &plan, Seconds() + each);
  }
}

void Rehearsal::KeepLedger(const v1::ConsistencyPolicy& consistency,
                           const std::string& mode, FaultPlan* plan,
                           double end_seconds) {
  view_->OnNote(absl::StrCat("a ledger in ", mode,
                             ": each acknowledged push must count once"));
  LedgerOptions options;
  options.program = program_;
  options.folder = absl::StrCat(run_.output_dir, "/ledger-", mode);
  options.servers = run_.job.job().cluster().servers();
  options.consistency = consistency;
  options.durability = run_.job.job().checkpointing().durability();
  options.plan = plan;
  options.seconds = [this] { return Seconds(); };
  options.end_seconds = end_seconds;
  options.view = view_;
  options.stop = stop_;
  const LedgerResult result = RunLedger(options);
  verdict_.faults.insert(verdict_.faults.end(), result.faults.begin(),
                         result.faults.end());
  LedgerCount sum = verdict_.ledger.value_or(LedgerCount());
  sum.acknowledged += result.count.acknowledged;
  sum.lost += result.count.lost;
  sum.doubled += result.count.doubled;
  sum.faults += result.count.faults;
  verdict_.ledger = sum;
  view_->OnLedger(mode, result.count);
  if (result.status.ok()) {
    std::error_code error;
    std::filesystem::remove_all(absl::StrCat(options.folder, "/out"), error);
  } else {
    Fail(absl::StrCat("ledger ", mode, ": ", result.status.message(), "; see ",
                      options.folder));
  }
}

ChaosVerdict Rehearsal::Run() {
  view_->OnNote(
      absl::StrCat("first without faults; output in ", run_.output_dir));
  begin_ = NowSeconds();
  const RoundResult undisturbed = Train("undisturbed", Options("undisturbed"));
  const double undisturbed_s = Seconds();
  if (undisturbed.status.ok()) {
    view_->OnNote(absl::StrFormat("now with a fault every %g s, for %s",
                                  command_.every_seconds,
                                  HumanSeconds(command_.minutes * 60)));
    begin_ = NowSeconds();
    TrainUnderFaults(undisturbed, undisturbed_s);
    if (keeps_ledger() && verdict_.reason.empty()) {
      KeepLedgers();
    }
    if (verdict_.faults.empty()) {
      Fail("nothing was disturbed: raise --minutes or lower --every");
    }
  }
  if (stop_->stop_requested()) {
    verdict_.reason = "stopped before its end";
  }
  verdict_.pass = verdict_.reason.empty();
  return verdict_;
}

}  // namespace selari
