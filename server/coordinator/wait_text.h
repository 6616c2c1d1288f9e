// Sentences on who is missing, since when, and when the coordinator gives up.
// Pure.

#ifndef SELARI_SERVER_COORDINATOR_WAIT_TEXT_H_
#define SELARI_SERVER_COORDINATOR_WAIT_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "selari/v1/coordinator_service.pb.h"
#include "server/coordinator/membership.h"

namespace selari {

struct WaitLimits {
  int64_t now_ms = 0;
  // A member that is missing for so long ends the job.
  int64_t give_up_ms = 0;
};

// "servers 0, 1 and 4"; "server 2". REQUIRES: not empty, one kind.
std::string MemberNames(const std::vector<const Member*>& members);

// "waits for worker 1 of 2, missing for 3 s; gives up in 297 s", or, when none
// of them has ever been there, "waits for worker 1 of 2 to join, 3 s so far;
// gives up in 297 s". REQUIRES: not empty, one kind; `count` is how many there
// should be in all.
std::string MissingText(const std::vector<const Member*>& missing,
                        int32_t count, const WaitLimits& limits);

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_WAIT_TEXT_H_
