#include "cli/chaos/members.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace selari {
namespace {

// Whole, or empty when the process is gone.
std::string ReadProc(pid_t pid, const char* file) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/", file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// -1 when it is gone.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadProc(pid, "stat");
  // The name before it may hold anything, parentheses too.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) {
    return -1;
  }
  const std::vector<absl::string_view> words = absl::StrSplit(
      absl::string_view(stat).substr(name_end + 1), ' ', absl::SkipEmpty());
  pid_t parent = -1;
  return words.size() > 1 && absl::SimpleAtoi(words[1], &parent) ? parent : -1;
}

}  // namespace

std::string MemberProcess::name() const {
  return absl::StrCat(is_server ? "server " : "worker ", id);
}

std::optional<MemberProcess> ParseMember(absl::string_view command_line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(command_line, '\0');
  if (words.size() < 2 || (words[1] != "server" && words[1] != "worker")) {
    return std::nullopt;
  }
  MemberProcess member;
  member.is_server = words[1] == "server";
  const auto flag = std::find(words.begin(), words.end(), "--id");
  if (flag == words.end() || flag + 1 == words.end() ||
      !absl::SimpleAtoi(*(flag + 1), &member.id)) {
    return std::nullopt;
  }
  return member;
}

std::vector<MemberProcess> MembersOf(pid_t parent) {
  std::vector<MemberProcess> members;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end;
       !error && entry != end; entry.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid) ||
        ParentOf(pid) != parent) {
      continue;
    }
    if (auto member = ParseMember(ReadProc(pid, "cmdline"))) {
      member->pid = pid;
      members.push_back(*member);
    }
  }
  std::sort(members.begin(), members.end(),
            [](const MemberProcess& a, const MemberProcess& b) {
              return std::make_tuple(!a.is_server, a.id) <
                     std::make_tuple(!b.is_server, b.id);
            });
  return members;
}

bool SignalMember(const MemberProcess& member, pid_t parent, int signal) {
  // The handle keeps meaning this process; who it is is looked at behind it.
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, member.pid, 0));
  if (handle < 0) {
    return false;
  }
  const bool same = ParentOf(member.pid) == parent;
  const bool sent =
      same && syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0) == 0;
  close(handle);
  return sent;
}

}  // namespace selari
