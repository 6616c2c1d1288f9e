// Who writes the journal of a shard. A server that is only cut off, not dead,
// may go on writing while another takes its place:
//
//   the one that comes                  the one that was
//   claims the journal                  writes, syncs
//   reads it to its end                 looks whose claim it is: another's
//   goes on in a file of its own        tells nobody
//
// Whoever still finds its own claim after a sync has synced before the other
// began to read, so that the other has it; that needs no clocks. It needs a
// file system on which a renamed file is seen by whoever opens its name next.
//
// Blocks on the disk. Thread safety: as FileEnv; one claims at a time.

#ifndef SELARI_SERVER_LOG_JOURNAL_CLAIM_H_
#define SELARI_SERVER_LOG_JOURNAL_CLAIM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"

namespace selari {

// Takes the journal of `shard` in `dir`, which is made if it is missing, from
// whoever has it. Returns what to check later, never 0. Errors as FileEnv.
[[nodiscard]] absl::StatusOr<uint64_t> ClaimJournal(FileEnv& env,
                                                    absl::string_view dir,
                                                    int32_t shard);

// ABORTED with reason WRONG_SHARD when another claim came behind this one.
[[nodiscard]] absl::Status CheckClaim(FileEnv& env, absl::string_view dir,
                                      int32_t shard, uint64_t claim);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_CLAIM_H_
