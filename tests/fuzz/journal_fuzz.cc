#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "server/log/journal_files.h"
#include "server/log/journal_format.h"
#include "server/log/journal_header.h"
#include "server/log/journal_reader.h"
#include "server/log/journal_record.h"
#include "server/log/journal_replay.h"
#include "server/log/journal_test_util.h"
#include "server/shard/shard_state.h"
#include "tests/fuzz/fuzz_seeds.h"

namespace selari {
namespace {

// Of one size: then a gradient fits where it does not belong.
const Tensors kTensors = {{"a", 3}, {"b", 3}};

std::shared_ptr<const ShardJob> JobOf(bool sync) {
  static const auto* const kSync = new RecordedLog(
      RecordSync("clipped_momentum", kTensors, /*shards=*/1, /*steps=*/2)[0]);
  static const auto* const kAsync = new RecordedLog(
      RecordOrdered(v1::CONSISTENCY_ASYNC, kTensors, /*clocks=*/1));
  return (sync ? kSync : kAsync)->job;
}

// Replays the file's bytes; the state must take whatever the reader lets by.
void Replay(absl::string_view bytes, bool sync) {
  FaultFileEnv env;
  const std::shared_ptr<const ShardJob> job = JobOf(sync);
  SELARI_CHECK(WriteFileAtomically(env, JournalPath(".", 0, 1), bytes).ok());
  const auto state = ShardState::Initial(job, 0);
  (void)ReadJournal(env, ".", {job->resolved.job_id(), 0}, std::nullopt,
                    [&state](int64_t, const ShardOp& op) {
                      return ReplayOp(op, state.get()).status();
                    })
      .ok();
}

void PutChecksum(std::string* bytes, size_t at, uint32_t checksum) {
  std::memcpy(&(*bytes)[at], &checksum, sizeof(checksum));
}

// The same file with right checksums and numbers of ops, as far as its lengths
// make sense: so that repeated and missing records reach the replay.
std::string Repair(std::string bytes) {
  constexpr size_t kAt = offsetof(FileHeaderLayout, checksum);
  if (bytes.size() < kFileHeaderBytes) {
    return bytes;
  }
  const absl::string_view view(bytes);
  const uint32_t file_checksum =
      ExtendCrc32c(Crc32c(view.substr(0, kAt)),
                   view.substr(kAt + 4, kFileHeaderBytes - kAt - 4));
  PutChecksum(&bytes, kAt, file_checksum);
  size_t at = kFileHeaderBytes;
  int64_t sequence = 0;
  std::memcpy(&sequence, &bytes[offsetof(FileHeaderLayout, first_sequence)],
              sizeof(sequence));
  while (at + kRecordHeaderBytes <= bytes.size()) {
    PutChecksum(&bytes, at, kRecordMagic);
    RecordLayout header;
    std::memcpy(&header, &bytes[at], sizeof(header));
    header.sequence = sequence;
    header.uncommitted = 0;
    std::memcpy(&bytes[at], &header, sizeof(header));
    const auto payload_bytes = static_cast<size_t>(PayloadBytes(header));
    const size_t left = bytes.size() - at - kRecordHeaderBytes;
    const absl::string_view record = absl::string_view(bytes).substr(at);
    PutChecksum(&bytes, at + offsetof(RecordLayout, payload_checksum),
                Crc32c(record.substr(kRecordHeaderBytes,
                                     std::min(left, payload_bytes))));
    PutChecksum(&bytes, at + offsetof(RecordLayout, checksum),
                ExtendCrc32c(file_checksum,
                             record.substr(offsetof(RecordLayout, type),
                                           kRecordHeaderBytes -
                                               offsetof(RecordLayout, type))));
    if (payload_bytes > left) {
      break;
    }
    at += kRecordHeaderBytes + payload_bytes;
    sequence = static_cast<int64_t>(static_cast<uint64_t>(sequence) + 1);
  }
  return bytes;
}

}  // namespace
}  // namespace selari

// The input is a journal's file. It is also read with its checksums put right,
// as hardly any mutation would get past them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string repaired = selari::Repair(std::string(bytes));
  for (const bool sync : {true, false}) {
    selari::Replay(bytes, sync);
    selari::Replay(repaired, sync);
  }
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const RecordedLog& log :
       {RecordSync("clipped_momentum", kTensors, 1, 2)[0],
        RecordOrdered(v1::CONSISTENCY_ASYNC, kTensors, 1)}) {
    FaultFileEnv env;
    const std::string path = WriteJournal(&env, "j", log, /*group=*/2);
    seeds.push_back(*ReadFile(env, path, 1 << 20));
  }
  return seeds;
}
