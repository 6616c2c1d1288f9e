// The servers and workers that a `selari train` runs, as processes that can be
// killed and paused.
//
// Thread safety: functions without state.

#ifndef SELARI_CLI_CHAOS_MEMBERS_H_
#define SELARI_CLI_CHAOS_MEMBERS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace selari {

struct MemberProcess {
  pid_t pid = 0;
  bool is_server = false;
  int32_t id = 0;

  // "server 1".
  std::string name() const;
};

// What a process with this command line is: /proc/PID/cmdline, arguments that
// each end with a zero byte. None when it is neither server nor worker.
std::optional<MemberProcess> ParseMember(absl::string_view command_line);

// The children of `parent` that are members, sorted by kind and id. One that
// has just been started and is not yet a member is left out.
std::vector<MemberProcess> MembersOf(pid_t parent);

// Sends the signal unless the process is gone, or its pid belongs to another
// by now. True when it was sent.
bool SignalMember(const MemberProcess& member, pid_t parent, int signal);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_MEMBERS_H_
