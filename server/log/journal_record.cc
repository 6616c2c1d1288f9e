#include "server/log/journal_record.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "common/shard_message.h"
#include "server/log/journal_format.h"
#include "server/shard/reduced_gradient.h"
#include "server/shard/reduction_program.h"
#include "server/shard/shard_op.h"

namespace selari {
namespace {

// Null for totals.
const ReducedGradient* GradientOf(const ShardOp& op) {
  if (const auto* reduced = std::get_if<ReducedOp>(&op)) {
    return &reduced->gradient;
  }
  const auto* push = std::get_if<PushOp>(&op);
  return push == nullptr ? nullptr : &push->gradient;
}

uint32_t Count(int64_t n) {
  SELARI_CHECK(n >= 0 && n <= std::numeric_limits<uint32_t>::max());
  return static_cast<uint32_t>(n);
}

// All that is said about the op but its payload's bytes.
RecordLayout Describe(const ShardOp& op) {
  RecordLayout header = {};
  header.magic = kRecordMagic;
  if (const auto* reduced = std::get_if<ReducedOp>(&op)) {
    header.type = static_cast<uint32_t>(RecordType::kReduced);
    header.count = Count(reduced->gradient.size());
    header.chunk = reduced->chunk;
    header.step = reduced->step;
  } else if (const auto* totals = std::get_if<TotalsOp>(&op)) {
    header.type = static_cast<uint32_t>(RecordType::kTotals);
    header.count = Count(static_cast<int64_t>(totals->totals.size()));
    header.chunk = totals->round;
    header.step = totals->step;
  } else {
    const auto& push = std::get<PushOp>(op);
    header.type = static_cast<uint32_t>(RecordType::kPush);
    header.count = Count(push.gradient.size());
    header.chunk = push.chunk;
    header.step = push.clock;
    header.worker_id = push.worker.worker_id;
    header.incarnation = push.worker.incarnation;
    header.push_sequence = push.sequence;
  }
  return header;
}

int64_t ElementBytes(const RecordLayout& header) {
  return header.type == static_cast<uint32_t>(RecordType::kTotals)
             ? sizeof(double)
             : sizeof(float);
}

// Copies bytes and adds them to a checksum while they are in the cache.
class ChecksummedCopy {
 public:
  explicit ChecksummedCopy(char* out) : out_(out) {}

  void Put(const void* data, size_t size) {
    constexpr size_t kBlockBytes =
        ReductionProgram::kBlockFloats * sizeof(float);
    const char* from = static_cast<const char*>(data);
    while (size > 0) {
      const size_t n = std::min(size, kBlockBytes);
      std::memcpy(out_, from, n);
      checksum_ = ExtendCrc32c(checksum_, {out_, n});
      out_ += n;
      from += n;
      size -= n;
    }
  }

  uint32_t checksum() const { return checksum_; }

 private:
  char* out_;
  uint32_t checksum_ = 0;
};

uint32_t ChecksumOf(uint32_t file_checksum, const RecordLayout& header) {
  constexpr size_t kBegin = offsetof(RecordLayout, type);
  return ExtendCrc32c(file_checksum,
                      {reinterpret_cast<const char*>(&header) + kBegin,
                       sizeof(header) - kBegin});
}

}  // namespace

int64_t RecordBytes(const ShardOp& op) { return RecordBytes(Describe(op)); }

int32_t RecordScratchBlocks(const ShardOp& op) {
  const ReducedGradient* const gradient = GradientOf(op);
  return gradient == nullptr ? 0 : gradient->scratch_blocks();
}

void EncodeRecord(const RecordPlace& place, const ShardOp& op, float* scratch,
                  char* out) {
  RecordLayout header = Describe(op);
  ChecksummedCopy copy(out + kRecordHeaderBytes);
  if (const ReducedGradient* const gradient = GradientOf(op)) {
    for (int64_t offset = 0; offset < gradient->size();) {
      const FloatSlice::Part part = gradient->PartAt(offset, scratch);
      copy.Put(part.data, static_cast<size_t>(part.size) * sizeof(float));
      offset += part.size;
    }
  } else {
    const auto& totals = std::get<TotalsOp>(op).totals;
    copy.Put(totals.data(), totals.size() * sizeof(double));
  }
  constexpr char kZeros[kJournalAlignment] = {};
  copy.Put(kZeros, static_cast<size_t>(PayloadBytes(header) -
                                       header.count * ElementBytes(header)));
  header.payload_checksum = copy.checksum();
  header.sequence = place.sequence;
  header.uncommitted = place.uncommitted;
  SELARI_CHECK(CheckRecordHeader(header).ok());
  header.checksum = ChecksumOf(place.file_checksum, header);
  std::memcpy(out, &header, sizeof(header));
}

std::optional<RecordLayout> ParseRecordHeader(uint32_t file_checksum,
                                              absl::string_view bytes) {
  RecordLayout header;
  SELARI_CHECK(bytes.size() >= sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kRecordMagic ||
      header.checksum != ChecksumOf(file_checksum, header)) {
    return std::nullopt;
  }
  return header;
}

absl::Status CheckRecordHeader(const RecordLayout& header) {
  const auto type = static_cast<RecordType>(header.type);
  const bool push = type == RecordType::kPush;
  if (!push && type != RecordType::kReduced && type != RecordType::kTotals) {
    return absl::DataLossError(
        absl::StrCat("it has a record of unknown type ", header.type));
  }
  const bool names_worker = header.worker_id >= 0 && header.push_sequence > 0;
  const bool names_none = header.incarnation == 0 && header.worker_id == 0 &&
                          header.push_sequence == 0;
  if (header.sequence < 0 || header.uncommitted > header.sequence ||
      header.chunk < 0 || header.step < 0 ||
      !(push ? names_worker : names_none)) {
    return absl::DataLossError("it has a record with impossible numbers");
  }
  return absl::OkStatus();
}

int64_t PayloadBytes(const RecordLayout& header) {
  const int64_t bytes = header.count * ElementBytes(header);
  return (bytes + kJournalAlignment - 1) / kJournalAlignment *
         kJournalAlignment;
}

ShardOp DecodeRecord(const RecordLayout& header, absl::string_view payload,
                     std::shared_ptr<const void> owner) {
  SELARI_CHECK(static_cast<int64_t>(payload.size()) == PayloadBytes(header));
  if (header.type == static_cast<uint32_t>(RecordType::kTotals)) {
    TotalsOp op{header.step, header.chunk, {}};
    op.totals.resize(header.count);
    if (header.count > 0) {
      std::memcpy(op.totals.data(), payload.data(),
                  header.count * sizeof(double));
    }
    return op;
  }
  SELARI_CHECK(reinterpret_cast<uintptr_t>(payload.data()) % alignof(float) ==
               0);
  ReducedGradient gradient(
      FloatSlice(reinterpret_cast<const float*>(payload.data()), header.count,
                 std::move(owner)));
  if (header.type == static_cast<uint32_t>(RecordType::kReduced)) {
    return ReducedOp{header.chunk, header.step, std::move(gradient)};
  }
  return PushOp{header.chunk,
                {header.worker_id, header.incarnation},
                header.push_sequence,
                header.step,
                std::move(gradient)};
}

}  // namespace selari
