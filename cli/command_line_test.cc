#include "cli/command_line.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "selari");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLineTest, TrainTakesTheClustersShape) {
  const Command command = Parse(
      {"train", "job.textproto", "--servers", "3", "--workers=5", "--steps",
       "100", "--set", "seed=4", "--set", "optimizer.learning_rate=0.1",
       "--output", "run1", "--resume", "--json"});
  const auto* train = std::get_if<TrainCommand>(&command);
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->job.job_file, "job.textproto");
  EXPECT_EQ(train->job.servers, 3);
  EXPECT_EQ(train->job.workers, 5);
  EXPECT_EQ(train->job.steps, 100);
  EXPECT_EQ(
      train->job.assignments,
      (std::vector<std::string>{"seed=4", "optimizer.learning_rate=0.1"}));
  EXPECT_EQ(train->job.output, "run1");
  EXPECT_TRUE(train->job.resume);
  EXPECT_TRUE(train->json);
  EXPECT_FALSE(train->job.centralised);
}

TEST(CommandLineTest, TheProgramIsNamedAsItWasCalled) {
  const char* const arguments[] = {"bin/selari", "coordinator", "job"};
  const Command command = ParseCommandLine(3, arguments);
  EXPECT_EQ(std::get<CoordinatorCommand>(command).job.program, "bin/selari");
}

TEST(CommandLineTest, SetDoesNotSwallowTheJobFile) {
  const Command command =
      Parse({"train", "--set", "seed=4", "job.textproto", "--centralised"});
  const auto* train = std::get_if<TrainCommand>(&command);
  ASSERT_NE(train, nullptr);
  EXPECT_EQ(train->job.job_file, "job.textproto");
  EXPECT_TRUE(train->job.centralised);
}

TEST(CommandLineTest, EveryCommandTeachesWithExamples) {
  for (const char* name : {"train", "coordinator", "server", "worker", "status",
                           "checkpoint", "digest", "export", "version"}) {
    const Command command = Parse({name, "--help"});
    const auto* exit = std::get_if<ExitNow>(&command);
    ASSERT_NE(exit, nullptr) << name;
    EXPECT_EQ(exit->exit_code, 0) << name;
    EXPECT_NE(exit->text.find("Examples:"), std::string::npos) << name;
  }
}

TEST(CommandLineTest, WhatIsUnknownIsNamedAndRefused) {
  struct Case {
    std::vector<const char*> arguments;
    const char* names;
  };
  for (const Case& c : std::vector<Case>{
           {{"train", "job", "--serverz", "2"}, "--serverz"},
           {{"trian", "job"}, "no command \"trian\", did you mean train?"},
           {{"fly"}, "no command \"fly\", there are: train "},
           {{"train"}, "job"},
           {{"train", "job", "--servers", "two"}, "two"},
           {{"train", "job", "another"}, "another"},
           {{"train", "job", "--steps", "-1"}, "--steps: -1"},
           {{"train", "job", "--steps=0"},
            "--steps: 0 is no whole number of at least 1;"},
           {{"train", "--sevrers", "2", "job"},
            "there is no flag --sevrers, did you mean --servers?"},
           {{"train", "job", "--verbose"}, "there is no flag --verbose;"},
           {{"checkpoint", "list", "run1", "--josn"}, "--josn"},
           {{"train", "job", "--servers", "-1"}, "--servers: -1"},
           {{"train", "job", "--servers", "1025"}, "[0, 1024]"},
           {{"train", "job", "--workers", "0"}, "--workers: 0"},
           {{"worker", "--threads", "0"}, "[1, 256]"},
           {{"worker", "--id", "-3"}, "--id: -3"},
           {{"worker", "--coordinator", "ps-0"}, "host:port"},
           {{"server", "--coordinator", "ps-0:99999"}, "99999"},
           {{"server", "--listen", "7071"}, "host:port"},
           {{"status", "--coordinator", "ps-0:http"}, "http"},
           {{"export", "run1", "--output", "x", "--format", "onnx"}, "onnx"},
           {{"checkpoint"}, "subcommand"},
           {{"train", "job", "--output", ""}, "--output: is empty"},
           {{"train", "job", "--output="}, "--output"},
           {{"train", ""}, "job: is empty"},
           {{"coordinator", "job", "--output", ""}, "--output: is empty"},
           {{"worker", "--data-folder", ""}, "--data-folder: is empty"},
           {{"status", "--output", ""}, "--output: is empty"},
           {{"checkpoint", "list", ""}, "path: is empty"},
           {{"checkpoint", "verify", ""}, "path: is empty"},
           {{"digest", ""}, "path: is empty"},
           {{"export", "", "--output", "x.npz"}, "path: is empty"},
           {{"export", "run1", "--output", ""}, "--output: is empty"},
           {{"bench", "step", ""}, "job: is empty"},
       }) {
    const Command command = Parse(c.arguments);
    const auto* exit = std::get_if<ExitNow>(&command);
    ASSERT_NE(exit, nullptr) << c.names;
    EXPECT_EQ(exit->exit_code, 2) << c.names;
    EXPECT_NE(exit->text.find(c.names), std::string::npos) << exit->text;
    EXPECT_EQ(exit->text.rfind("selari: error: ", 0), 0) << exit->text;
    EXPECT_EQ(exit->text.find('\n'), exit->text.size() - 1) << exit->text;
  }
}

TEST(CommandLineTest, TheBareCommandTeaches) {
  const Command command = Parse({});
  const auto* exit = std::get_if<ExitNow>(&command);
  ASSERT_NE(exit, nullptr);
  EXPECT_EQ(exit->exit_code, 2);
  for (const char* part :
       {"train", "Exit codes:", "build, test, format and lint"}) {
    EXPECT_NE(exit->text.find(part), std::string::npos) << part;
  }
}

TEST(CommandLineTest, VersionIsAFlagToo) {
  const Command command = Parse({"--version"});
  const auto* exit = std::get_if<ExitNow>(&command);
  ASSERT_NE(exit, nullptr);
  EXPECT_EQ(exit->exit_code, 0);
  EXPECT_EQ(exit->text.rfind("selari ", 0), 0) << exit->text;
}

TEST(CommandLineTest, CheckpointActionsAreCommandsOfTheirOwn) {
  const Command command = Parse({"checkpoint", "verify", "run1"});
  const auto* checkpoint = std::get_if<CheckpointCommand>(&command);
  ASSERT_NE(checkpoint, nullptr);
  EXPECT_EQ(checkpoint->action, CheckpointCommand::Action::kVerify);
  EXPECT_EQ(checkpoint->path, "run1");
}

TEST(CommandLineTest, BenchHasCommandsOfItsOwn) {
  const auto wire = std::get<BenchWireCommand>(
      Parse({"bench", "wire", "--connect", "10.0.0.2:7080", "--json"}));
  EXPECT_EQ(wire.connect, "10.0.0.2:7080");
  EXPECT_EQ(wire.megabytes, 256);
  EXPECT_TRUE(wire.json);
  const auto step = std::get<BenchStepCommand>(
      Parse({"bench", "step", "job.textproto", "--set", "seed=3"}));
  EXPECT_EQ(step.job_file, "job.textproto");
  EXPECT_EQ(step.assignments, std::vector<std::string>{"seed=3"});
  EXPECT_EQ(std::get<BenchApplyCommand>(Parse({"bench", "apply"})).repeats, 5);
  EXPECT_EQ(std::get<ExitNow>(Parse({"bench", "kernels", "--repeats", "0"}))
                .exit_code,
            2);
}

}  // namespace
}  // namespace selari
