// Membership: who belongs to the job, by lease. A member that is not heard of
// for lease_ms is taken for dead; its id may then be taken by another process.
//
// Pure: the time is passed in, in milliseconds of one steady clock, never
// going back. Thread safety: none; the coordinator holds its lock.

#ifndef SELARI_SERVER_COORDINATOR_MEMBERSHIP_H_
#define SELARI_SERVER_COORDINATOR_MEMBERSHIP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

struct Member {
  v1::MemberKind kind = v1::MEMBER_KIND_UNSPECIFIED;
  int32_t id = 0;
  // Of the life that joined last; 0 before the first one.
  uint64_t incarnation = 0;
  // That joined so far, each with an incarnation of its own.
  int32_t lives = 0;
  // host:port; servers only.
  std::string address;
  int64_t last_heard_ms = 0;
  // Since when there is no live member of this id; meaningful while !alive.
  int64_t missing_since_ms = 0;
  bool alive = false;
  // It ended by itself and in good order: its lease does not matter any more.
  bool left = false;
  // It was told that the job has ended.
  bool knows_the_end = false;

  bool ever_joined() const { return incarnation != 0; }
  // Somebody should come and has not.
  bool missing() const { return !alive && !left; }
};

// "server 1".
std::string MemberName(v1::MemberKind kind, int32_t id);

class Membership {
 public:
  struct Options {
    int32_t servers = 0;
    int32_t workers = 0;
    int64_t lease_ms = 10'000;
    int64_t now_ms = 0;  // everybody is missing since then
  };
  struct Candidate {
    int32_t id = -1;  // -1: the lowest id that is free
    uint64_t incarnation = 0;
    std::string address;
  };

  explicit Membership(const Options& options);

  // The member's id. Repeating it with the same incarnation is harmless.
  // INVALID_ARGUMENT (id out of range, no incarnation, a server without
  // address), ALREADY_EXISTS (a live member has the id; with -1: no id is
  // free), naming the other member and when its lease ends, with DUPLICATE_ID
  // and the time until then as its reason and retry delay.
  absl::StatusOr<int32_t> Join(v1::MemberKind kind, const Candidate& candidate,
                               int64_t now_ms);

  // NOT_FOUND when the lease had ended or another life has the id. OK, without
  // effect, for a life that left in good order: its last words may come twice,
  // and a renewal under way behind them must not bring it back.
  absl::Status Renew(v1::MemberKind kind, int32_t id, uint64_t incarnation,
                     int64_t now_ms);

  // It ends in good order. No effect on another life of the id.
  void Leave(v1::MemberKind kind, int32_t id, uint64_t incarnation);

  // It is known to be dead: its lease ends now. No effect on one without.
  // REQUIRES: the id is in range.
  void EndLease(v1::MemberKind kind, int32_t id, int64_t now_ms);

  // It was told that the job has ended. REQUIRES: the id is in range.
  void NoteTold(v1::MemberKind kind, int32_t id);

  // Ends the leases that are over and tells whose.
  std::vector<const Member*> ExpireLeases(int64_t now_ms);

  // In order of id. REQUIRES: kind is SERVER or WORKER.
  const std::vector<Member>& members(v1::MemberKind kind) const;
  // Ids that have no live member and should, ascending.
  std::vector<const Member*> Missing(v1::MemberKind kind) const;

 private:
  std::vector<Member>& mutable_members(v1::MemberKind kind);
  absl::StatusOr<Member*> FindPlace(v1::MemberKind kind,
                                    const Candidate& candidate, int64_t now_ms);
  // ALREADY_EXISTS: `text`, and when the member's place is free if it died.
  absl::Status Taken(const Member& member, absl::string_view text,
                     int64_t now_ms) const;

  const int64_t lease_ms_;
  std::vector<Member> servers_;
  std::vector<Member> workers_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_MEMBERSHIP_H_
