#include "cli/chaos/members.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace selari {
namespace {

using std::string_literals::operator""s;

TEST(MembersTest, KnowsAMemberByItsCommandLine) {
  const auto server =
      ParseMember("/bin/selari\0server\0--coordinator\0a:1\0--id\0002\0"s);
  ASSERT_TRUE(server.has_value());
  EXPECT_EQ(server->name(), "server 2");
  const auto worker = ParseMember("selari\0worker\0--id\0000\0--threads\0001"s);
  ASSERT_TRUE(worker.has_value());
  EXPECT_EQ(worker->name(), "worker 0");
  EXPECT_FALSE(ParseMember("").has_value());
  EXPECT_FALSE(ParseMember("selari\0train\0--id\0001\0"s).has_value());
  EXPECT_FALSE(ParseMember("selari\0server\0--id\0"s).has_value());
  EXPECT_FALSE(ParseMember("selari\0server\0--id\0x\0"s).has_value());
}

TEST(MembersTest, FindsAndSignalsChildren) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "exec sleep 60", "server", "--id", "3",
          nullptr);
    _exit(1);
  }
  // It looks like no member, so it is not found; but it can be signalled.
  for (const MemberProcess& member : MembersOf(getpid())) {
    EXPECT_NE(member.pid, child);
  }
  MemberProcess member;
  member.pid = child;
  EXPECT_FALSE(SignalMember(member, getpid() + 1, SIGKILL));  // not its parent
  EXPECT_TRUE(SignalMember(member, getpid(), SIGKILL));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(SignalMember(member, getpid(), SIGKILL));  // gone
}

}  // namespace
}  // namespace selari
