#include "server/log/journal_claim.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/error_reason.h"
#include "common/incarnation.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int64_t kClaimBytesMax = 4096;

std::string ClaimPath(absl::string_view dir, int32_t shard) {
  return JoinPath(dir, absl::StrFormat("shard-%05d.owner", shard));
}

std::string ClaimText(uint64_t claim) {
  return absl::StrFormat("%016x\n", claim);
}

}  // namespace

absl::StatusOr<uint64_t> ClaimJournal(FileEnv& env, absl::string_view dir,
                                      int32_t shard) {
  SELARI_RETURN_IF_ERROR(CreateDirsDurably(env, dir));
  const uint64_t claim = NewIncarnation();
  SELARI_RETURN_IF_ERROR(
      WriteFileAtomically(env, ClaimPath(dir, shard), ClaimText(claim)));
  return claim;
}

absl::Status CheckClaim(FileEnv& env, absl::string_view dir, int32_t shard,
                        uint64_t claim) {
  SELARI_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(env, ClaimPath(dir, shard), kClaimBytesMax));
  if (text == ClaimText(claim)) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::AbortedError(absl::StrCat("another server has taken over shard ",
                                      shard, " and its journal in ", dir)),
      ErrorReason::kWrongShard);
}

}  // namespace selari
