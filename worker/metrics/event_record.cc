#include "worker/metrics/event_record.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/crc32c.h"

namespace selari {
namespace {

// Field numbers of tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto.
constexpr int kEventWallTime = 1;
constexpr int kEventStep = 2;
constexpr int kEventFileVersion = 3;
constexpr int kEventSummary = 5;
constexpr int kEventSessionLog = 7;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimpleValue = 2;
constexpr int kSessionLogStatus = 1;
constexpr uint64_t kSessionLogStart = 1;

std::string LittleEndian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// The four kinds of field, with their wire types.
std::string VarintField(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field) << 3 | 0) + Varint(value);
}
std::string DoubleField(int field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return Varint(static_cast<uint64_t>(field) << 3 | 1) + LittleEndian(bits, 8);
}
std::string BytesField(int field, absl::string_view bytes) {
  return absl::StrCat(Varint(static_cast<uint64_t>(field) << 3 | 2),
                      Varint(bytes.size()), bytes);
}
std::string FloatField(int field, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return Varint(static_cast<uint64_t>(field) << 3 | 5) + LittleEndian(bits, 4);
}

std::string MaskedChecksum(absl::string_view bytes) {
  return LittleEndian(MaskCrc32c(Crc32c(bytes)), 4);
}

}  // namespace

std::string TfRecord(absl::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  return absl::StrCat(length, MaskedChecksum(length), data,
                      MaskedChecksum(data));
}

std::string FileVersionRecord(double wall_time) {
  return TfRecord(DoubleField(kEventWallTime, wall_time) +
                  BytesField(kEventFileVersion, "brain.Event:2"));
}

std::string RestartRecord(double wall_time, int64_t step) {
  return TfRecord(DoubleField(kEventWallTime, wall_time) +
                  VarintField(kEventStep, static_cast<uint64_t>(step)) +
                  BytesField(kEventSessionLog,
                             VarintField(kSessionLogStatus, kSessionLogStart)));
}

std::string ScalarsRecord(double wall_time, int64_t step,
                          absl::Span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    summary += BytesField(
        kSummaryValue,
        BytesField(kValueTag, scalar.tag) +
            FloatField(kValueSimpleValue, static_cast<float>(scalar.value)));
  }
  return TfRecord(DoubleField(kEventWallTime, wall_time) +
                  VarintField(kEventStep, static_cast<uint64_t>(step)) +
                  BytesField(kEventSummary, summary));
}

}  // namespace selari
