#include "server/coordinator/membership.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/error_reason.h"
#include "common/human.h"
#include "common/status.h"

namespace selari {
namespace {

absl::string_view KindName(v1::MemberKind kind) {
  return kind == v1::MEMBER_KIND_SERVER ? "server" : "worker";
}

std::vector<Member> Places(v1::MemberKind kind, int32_t count, int64_t now_ms) {
  std::vector<Member> members(count);
  for (int32_t id = 0; id < count; ++id) {
    members[id].kind = kind;
    members[id].id = id;
    members[id].missing_since_ms = now_ms;
  }
  return members;
}

}  // namespace

std::string MemberName(v1::MemberKind kind, int32_t id) {
  return absl::StrCat(KindName(kind), " ", id);
}

Membership::Membership(const Options& options)
    : lease_ms_(options.lease_ms),
      servers_(Places(v1::MEMBER_KIND_SERVER, options.servers, options.now_ms)),
      workers_(
          Places(v1::MEMBER_KIND_WORKER, options.workers, options.now_ms)) {}

absl::StatusOr<int32_t> Membership::Join(v1::MemberKind kind,
                                         const Candidate& candidate,
                                         int64_t now_ms) {
  if (candidate.incarnation == 0) {
    return absl::InvalidArgumentError("a member's incarnation must not be 0");
  }
  if (kind == v1::MEMBER_KIND_SERVER && candidate.address.empty()) {
    return absl::InvalidArgumentError("a server must give its host:port");
  }
  SELARI_ASSIGN_OR_RETURN(Member * member, FindPlace(kind, candidate, now_ms));
  member->lives += member->incarnation != candidate.incarnation ? 1 : 0;
  member->incarnation = candidate.incarnation;
  member->address = candidate.address;
  member->last_heard_ms = now_ms;
  member->alive = true;
  member->left = false;
  return member->id;
}

absl::StatusOr<Member*> Membership::FindPlace(v1::MemberKind kind,
                                              const Candidate& candidate,
                                              int64_t now_ms) {
  std::vector<Member>& members = mutable_members(kind);
  const int32_t count = static_cast<int32_t>(members.size());
  if (candidate.id < -1 || candidate.id >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        KindName(kind), " id ", candidate.id, ": the job has ",
        CountOf(count, KindName(kind)), ", so ids are 0 to ", count - 1,
        "; leave it out (-1 in the API) to be given one"));
  }
  if (candidate.id == -1) {
    for (Member& member : members) {
      if (!member.alive || member.incarnation == candidate.incarnation) {
        return &member;
      }
    }
    const Member& silent = *std::min_element(
        members.begin(), members.end(), [](const Member& a, const Member& b) {
          return a.last_heard_ms < b.last_heard_ms;
        });
    return Taken(
        silent,
        absl::StrCat("the job has its ", CountOf(count, KindName(kind)),
                     " already; ", MemberName(kind, silent.id), " was"),
        now_ms);
  }
  Member& member = members[candidate.id];
  if (member.alive && member.incarnation != candidate.incarnation) {
    return Taken(
        member,
        absl::StrCat(MemberName(kind, candidate.id), " is there already",
                     member.address.empty() ? "" : " at ", member.address, ","),
        now_ms);
  }
  return &member;
}

absl::Status Membership::Taken(const Member& member, absl::string_view text,
                               int64_t now_ms) const {
  // A lease is seen to have ended by the next tick only.
  const int64_t free_in_ms =
      std::max<int64_t>(1, member.last_heard_ms + lease_ms_ - now_ms);
  return WithReason(
      absl::AlreadyExistsError(absl::StrCat(
          text, " heard of ", now_ms - member.last_heard_ms,
          " ms ago; if it died, its place is free in ", free_in_ms, " ms")),
      ErrorReason::kDuplicateId, static_cast<int32_t>(free_in_ms));
}

absl::Status Membership::Renew(v1::MemberKind kind, int32_t id,
                               uint64_t incarnation, int64_t now_ms) {
  std::vector<Member>& members = mutable_members(kind);
  if (id < 0 || id >= static_cast<int32_t>(members.size()) ||
      members[id].incarnation != incarnation ||
      !(members[id].alive || members[id].left)) {
    return absl::NotFoundError(absl::StrCat(
        MemberName(kind, id), ": this life of it has no lease (any more)"));
  }
  members[id].last_heard_ms = now_ms;
  return absl::OkStatus();
}

void Membership::Leave(v1::MemberKind kind, int32_t id, uint64_t incarnation) {
  std::vector<Member>& members = mutable_members(kind);
  if (id >= 0 && id < static_cast<int32_t>(members.size()) &&
      members[id].incarnation == incarnation) {
    members[id].alive = false;
    members[id].left = true;
  }
}

void Membership::EndLease(v1::MemberKind kind, int32_t id, int64_t now_ms) {
  Member& member = mutable_members(kind)[id];
  if (member.alive) {
    member.alive = false;
    member.missing_since_ms = now_ms;
  }
}

void Membership::NoteTold(v1::MemberKind kind, int32_t id) {
  mutable_members(kind)[id].knows_the_end = true;
}

std::vector<const Member*> Membership::ExpireLeases(int64_t now_ms) {
  std::vector<const Member*> expired;
  for (std::vector<Member>* members : {&servers_, &workers_}) {
    for (Member& member : *members) {
      if (member.alive && now_ms - member.last_heard_ms > lease_ms_) {
        member.alive = false;
        member.missing_since_ms = member.last_heard_ms;
        expired.push_back(&member);
      }
    }
  }
  return expired;
}

const std::vector<Member>& Membership::members(v1::MemberKind kind) const {
  return kind == v1::MEMBER_KIND_SERVER ? servers_ : workers_;
}

std::vector<Member>& Membership::mutable_members(v1::MemberKind kind) {
  SELARI_CHECK(kind == v1::MEMBER_KIND_SERVER ||
               kind == v1::MEMBER_KIND_WORKER);
  return kind == v1::MEMBER_KIND_SERVER ? servers_ : workers_;
}

std::vector<const Member*> Membership::Missing(v1::MemberKind kind) const {
  std::vector<const Member*> missing;
  for (const Member& member : members(kind)) {
    if (member.missing()) {
      missing.push_back(&member);
    }
  }
  return missing;
}

}  // namespace selari
