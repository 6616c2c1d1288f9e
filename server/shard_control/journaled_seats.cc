#include "server/shard_control/journaled_seats.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "server/log/journal_claim.h"
#include "server/log/journal_files.h"
#include "server/log/journal_header.h"
#include "server/log/journal_reader.h"
#include "server/log/journal_replay.h"
#include "server/log/journal_writer.h"
#include "server/shard/shard_op.h"
#include "server/shard/shard_state.h"

namespace selari {
namespace {

// Applies what the journal has from `sequence` on; returns where it ends.
absl::StatusOr<int64_t> Replay(const JournalPlace& place, const JournalId& id,
                               int64_t sequence, ShardState* state,
                               JournalTotals* totals) {
  SELARI_ASSIGN_OR_RETURN(
      const JournalContents contents,
      ReadJournal(*place.env, place.directory, id, sequence,
                  [state, totals](int64_t /*sequence*/, const ShardOp& op) {
                    const absl::StatusOr<bool> applied = ReplayOp(op, state);
                    totals->ops += 1;
                    totals->applied += applied.ok() && *applied ? 1 : 0;
                    return applied.status();
                  }));
  if (contents.file_count == 0) {
    return absl::DataLossError(
        absl::StrCat("there is no file of it in ", place.directory));
  }
  totals->torn_tails += contents.torn_tail.has_value() ? 1 : 0;
  return contents.next_sequence;
}

absl::StatusOr<ShardSeat> MakeSeat(const std::shared_ptr<const ShardJob>& job,
                                   int32_t shard,
                                   const std::optional<ShardSnapshot>& snapshot,
                                   const JournalPlace& place,
                                   JournalTotals* totals) {
  ShardSeat seat;
  int64_t sequence = 0;
  if (snapshot.has_value()) {
    SELARI_ASSIGN_OR_RETURN(seat.state,
                            ShardState::FromSnapshot(job, *snapshot));
    sequence = snapshot->log_sequence;
  } else {
    seat.state = ShardState::Initial(job, shard);
  }
  // Of the state's version the journal may have ops from here on.
  seat.version_begin = sequence;
  const JournalId id{job->resolved.job_id(), shard};
  // Before anything is read: what comes later is not acknowledged.
  SELARI_ASSIGN_OR_RETURN(const uint64_t claim,
                          ClaimJournal(*place.env, place.directory, shard));
  if (place.recover) {
    const absl::StatusOr<int64_t> next =
        Replay(place, id, sequence, seat.state.get(), totals);
    if (!next.ok()) {
      return Annotate(next.status(),
                      absl::StrCat("the journal of shard ", shard));
    }
    sequence = *next;
  } else {
    SELARI_RETURN_IF_ERROR(
        RemoveAllJournalFiles(*place.env, place.directory, shard));
  }
  JournalWriter::Options options;
  options.dir = place.directory;
  options.id = id;
  options.next_sequence = sequence;
  options.claim = claim;
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> writer,
                          JournalWriter::Open(place.env, std::move(options)));
  SELARI_RETURN_IF_ERROR(writer->StartFile(seat.state->min_version()));
  seat.log = std::move(writer);
  return seat;
}

}  // namespace

std::map<int32_t, MakeShardSeat> JournaledSeats(
    const std::shared_ptr<const ShardJob>& job,
    const std::vector<int32_t>& shards, std::vector<ShardSnapshot> snapshots,
    const JournalPlace& place, JournalTotals* totals) {
  std::map<int32_t, std::optional<ShardSnapshot>> by_shard;
  for (const int32_t shard : shards) {
    by_shard.emplace(shard, std::nullopt);
  }
  for (ShardSnapshot& snapshot : snapshots) {
    by_shard[snapshot.shard] = std::move(snapshot);
  }
  std::map<int32_t, MakeShardSeat> makers;
  for (auto& [shard, snapshot] : by_shard) {
    // Shared, as a std::function must be copyable; the buffers end with it.
    auto from =
        std::make_shared<std::optional<ShardSnapshot>>(std::move(snapshot));
    makers.emplace(shard, [job, shard = shard, from, place, totals] {
      return MakeSeat(job, shard, std::exchange(*from, std::nullopt), place,
                      totals);
    });
  }
  return makers;
}

}  // namespace selari
