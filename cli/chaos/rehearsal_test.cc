#include "cli/chaos/rehearsal.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

// Says what `selari train` says, and trains nothing.
constexpr char kTrain[] = R"(#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = --output ]; then output=$2; fi
  shift
done
mkdir -p "$output"
echo '{"event":"start","coordinator":"127.0.0.1:1"}'
sleep 0.4
case $output in
  *undisturbed) digest=aa ;;
  *) digest=@DIGEST@ ;;
esac
echo '{"event":"summary","state":"@STATE@","message":"as told","digest":"'$digest'","steps":5}'
exit @CODE@
)";

std::string WriteTrain(const std::string& name, const std::string& digest,
                       const std::string& state, int code) {
  std::string text = kTrain;
  const auto put = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  put("@DIGEST@", digest);
  put("@STATE@", state);
  put("@CODE@", absl::StrCat(code));
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  chmod(path.c_str(), 0755);
  return path;
}

class NullView final : public ChaosView {
 public:
  void OnNote(absl::string_view) override {}
  void OnProgress(int64_t, int64_t, double) override {}
  void OnRound(absl::string_view, const TrainResult&) override {}
  void OnFault(const FaultEvent&) override { ++faults; }
  void OnNextStep(double) override {}
  void OnLedger(absl::string_view, const LedgerCount&) override {}
  void OnVerdict(const ChaosVerdict&) override {}

  int faults = 0;
};

ChaosVerdict Rehearse(const std::string& program, const std::string& output,
                      const StopToken* stop,
                      v1::Consistency mode = v1::CONSISTENCY_SYNC) {
  ChaosCommand command;
  command.job.job_file = "job.textproto";
  command.minutes = 0.04;
  command.every_seconds = 0.5;
  // The others need members, which this train has not.
  command.faults = {"kill-coordinator"};
  PreparedRun run;
  run.job.mutable_job()->mutable_consistency()->set_mode(mode);
  run.job.mutable_job()->mutable_cluster()->set_servers(1);
  run.output_dir = testing::TempDir() + "/" + output;
  mkdir(run.output_dir.c_str(), 0755);
  NullView view;
  const ChaosVerdict verdict =
      Rehearsal(command, run, program, &view, stop).Run();
  EXPECT_EQ(static_cast<int>(verdict.faults.size()), view.faults);
  return verdict;
}

TEST(RehearsalTest, PassesWhereEveryRoundEndsWithTheSameDigest) {
  const StopToken stop;
  const ChaosVerdict verdict =
      Rehearse(WriteTrain("same", "aa", "done", 0), "same-out", &stop);
  EXPECT_TRUE(verdict.pass) << verdict.reason;
  EXPECT_EQ(verdict.same_digest, true);
  EXPECT_GE(verdict.rounds, 1);
  EXPECT_FALSE(verdict.faults.empty());
  EXPECT_FALSE(verdict.ledger.has_value());  // CHECKPOINTED promises none
}

TEST(RehearsalTest, FailsForAnotherDigest) {
  const StopToken stop;
  const std::string train = WriteTrain("other", "bb", "done", 0);
  const ChaosVerdict verdict = Rehearse(train, "other-out", &stop);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.same_digest, false);
  EXPECT_NE(verdict.reason.find("digest bb"), std::string::npos)
      << verdict.reason;
}

TEST(RehearsalTest, ComparesNoDigestsWithoutSync) {
  const StopToken stop;
  const std::string train = WriteTrain("async", "bb", "done", 0);
  const ChaosVerdict verdict =
      Rehearse(train, "async-out", &stop, v1::CONSISTENCY_ASYNC);
  EXPECT_TRUE(verdict.pass) << verdict.reason;
  EXPECT_FALSE(verdict.same_digest.has_value());
}

TEST(RehearsalTest, FailsWithTheWordsOfARunThatFails) {
  const StopToken stop;
  const std::string train = WriteTrain("fails", "aa", "failed", 3);
  const ChaosVerdict verdict = Rehearse(train, "fails-out", &stop);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.rounds, 0);
  EXPECT_NE(verdict.reason.find("exit code 3: as told"), std::string::npos)
      << verdict.reason;
}

TEST(RehearsalTest, AStopIsNoPass) {
  StopToken stop;
  stop.RequestStop();
  const ChaosVerdict verdict =
      Rehearse(WriteTrain("stop", "aa", "done", 0), "stop-out", &stop);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.reason, "stopped before its end");
}

}  // namespace
}  // namespace selari
