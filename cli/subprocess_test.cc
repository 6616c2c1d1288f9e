#include "cli/subprocess.h"

#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

std::string LogPath(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name, ".log");
}

std::unique_ptr<Subprocess> Shell(const std::string& script,
                                  const std::string& name) {
  auto child =
      Subprocess::Start(name, {"/bin/sh", "-c", script}, LogPath(name));
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

TEST(SubprocessTest, ExitCodeAndOutputAreKept) {
  auto child = Shell("echo out; echo err >&2; exit 7", "exits");
  EXPECT_EQ(child->WaitFor(10000), 7);
  EXPECT_EQ(child->LogTail(100), "out\nerr\n");
  EXPECT_EQ(child->LogTail(4), "err\n");
}

TEST(SubprocessTest, ASignalIsAnExitCodePast128) {
  auto child = Shell("kill -TERM $$", "signal");
  EXPECT_EQ(child->WaitFor(10000), 128 + SIGTERM);
}

TEST(SubprocessTest, TerminateAsksAndTheDestructorKills) {
  auto polite = Shell("exec sleep 1000", "polite");
  EXPECT_FALSE(polite->Poll().has_value());
  polite->Terminate();
  EXPECT_EQ(polite->WaitFor(10000), 128 + SIGTERM);

  auto stubborn =
      Shell("trap '' TERM; echo ready; while :; do :; done", "stubborn");
  const pid_t pid = stubborn->pid();
  stubborn->Terminate();
  stubborn.reset();
  EXPECT_NE(kill(pid, 0), 0);
}

TEST(SubprocessTest, AProgramThatIsMissingIsNamed) {
  const auto child =
      Subprocess::Start("server 0", {"/nowhere/selari"}, LogPath("missing"));
  EXPECT_EQ(child.status().message(),
            "cannot start server 0 as /nowhere/selari: No such file or "
            "directory");
}

TEST(SubprocessTest, ALogThatCannotBeWrittenIsNamed) {
  const auto child =
      Subprocess::Start("server 0", {"/bin/true"}, "/nowhere/server.log");
  EXPECT_EQ(child.status().message(),
            "cannot write the log of server 0, /nowhere/server.log: No such "
            "file or directory");
}

}  // namespace
}  // namespace selari
