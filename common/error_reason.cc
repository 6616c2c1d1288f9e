#include "common/error_reason.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "google/protobuf/unknown_field_set.h"

namespace selari {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// In the order of their numbers.
constexpr absl::string_view kNames[] = {
    "UNSPECIFIED",     "WRONG_JOB",       "WRONG_SHARD",  "STALE_INCARNATION",
    "NOT_INITIALIZED", "SHAPE_MISMATCH",  "NOT_FINITE",   "SEQUENCE_GAP",
    "QUEUE_FULL",      "JOB_STOPPED",     "STEP_TOO_FAR", "SHARD_FAILED",
    "DUPLICATE_ID",    "INSTRUCTION_SET",
};

constexpr absl::string_view kDomain = "selari";
constexpr absl::string_view kErrorInfoUrl =
    "type.googleapis.com/google.rpc.ErrorInfo";
constexpr absl::string_view kRetryInfoUrl =
    "type.googleapis.com/google.rpc.RetryInfo";

// Debian has no google/rpc/error_details.proto, and the two messages are
// tiny: written field by field with protobuf's own wire code.
// google.rpc.ErrorInfo: reason = 1, domain = 2, map<string, string> metadata
// = 3 (entries of key = 1, value = 2).
// google.rpc.RetryInfo: retry_delay = 1, a Duration of seconds = 1, nanos = 2.
constexpr int kReasonField = 1;
constexpr int kDomainField = 2;
constexpr int kMetadataField = 3;
constexpr int kDelayField = 1;
constexpr int kFirstField = 1;
constexpr int kSecondField = 2;

std::string Serialize(const UnknownFieldSet& fields) {
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

// `fields` is an out-parameter because the set can be neither copied nor moved.
void ParsePayload(absl::string_view url, const absl::Status& status,
                  UnknownFieldSet* fields) {
  const auto payload = status.GetPayload(url);
  // A payload that does not parse leaves nothing: as if it were not there.
  if (payload.has_value() && !fields->ParseFromString(std::string(*payload))) {
    fields->Clear();
  }
}

// The last field of that number, as proto3 reads singular fields.
const UnknownField* Find(const UnknownFieldSet& fields, int number,
                         UnknownField::Type type) {
  for (int i = fields.field_count() - 1; i >= 0; --i) {
    if (fields.field(i).number() == number && fields.field(i).type() == type) {
      return &fields.field(i);
    }
  }
  return nullptr;
}

std::string Text(const UnknownFieldSet& fields, int number) {
  const UnknownField* field =
      Find(fields, number, UnknownField::TYPE_LENGTH_DELIMITED);
  return field == nullptr ? "" : field->length_delimited();
}

int64_t Number(const UnknownFieldSet& fields, int number) {
  const UnknownField* field = Find(fields, number, UnknownField::TYPE_VARINT);
  return field == nullptr ? 0 : static_cast<int64_t>(field->varint());
}

}  // namespace

absl::string_view ReasonName(ErrorReason reason) {
  const auto number = static_cast<size_t>(reason);
  return number < std::size(kNames) ? kNames[number] : kNames[0];
}

ErrorReason ReasonFromName(absl::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames)
             ? ErrorReason::kUnspecified
             : static_cast<ErrorReason>(found - std::begin(kNames));
}

ErrorReason ReasonFromNumber(int32_t number) {
  return number >= 0 && number < static_cast<int32_t>(std::size(kNames))
             ? static_cast<ErrorReason>(number)
             : ErrorReason::kUnspecified;
}

absl::Status WithReason(absl::Status status, ErrorReason reason,
                        int32_t retry_after_ms) {
  UnknownFieldSet info;
  info.AddLengthDelimited(kReasonField, std::string(ReasonName(reason)));
  info.AddLengthDelimited(kDomainField, std::string(kDomain));
  status.SetPayload(kErrorInfoUrl, absl::Cord(Serialize(info)));
  if (retry_after_ms > 0) {
    UnknownFieldSet delay;
    delay.AddVarint(kFirstField, retry_after_ms / 1000);
    delay.AddVarint(kSecondField, retry_after_ms % 1000 * int64_t{1000000});
    UnknownFieldSet retry;
    retry.AddLengthDelimited(kDelayField, Serialize(delay));
    status.SetPayload(kRetryInfoUrl, absl::Cord(Serialize(retry)));
  }
  return status;
}

ErrorReason ReasonOf(const absl::Status& status) {
  UnknownFieldSet info;
  ParsePayload(kErrorInfoUrl, status, &info);
  return Text(info, kDomainField) == kDomain
             ? ReasonFromName(Text(info, kReasonField))
             : ErrorReason::kUnspecified;
}

int32_t RetryAfterMs(const absl::Status& status) {
  UnknownFieldSet retry;
  ParsePayload(kRetryInfoUrl, status, &retry);
  UnknownFieldSet delay;
  if (!delay.ParseFromString(Text(retry, kDelayField))) {
    return 0;
  }
  constexpr int64_t kSecondsMax = 86400;
  const int64_t seconds =
      std::clamp(Number(delay, kFirstField), int64_t{0}, kSecondsMax - 1);
  const int64_t nanos =
      std::clamp(Number(delay, kSecondField), int64_t{0}, int64_t{999999999});
  return static_cast<int32_t>(seconds * 1000 + nanos / 1000000);
}

void SetReasonMetadata(absl::string_view key, absl::string_view value,
                       absl::Status* status) {
  UnknownFieldSet info;
  ParsePayload(kErrorInfoUrl, *status, &info);
  if (info.empty()) {
    return;
  }
  UnknownFieldSet entry;
  entry.AddLengthDelimited(kFirstField, std::string(key));
  entry.AddLengthDelimited(kSecondField, std::string(value));
  info.AddLengthDelimited(kMetadataField, Serialize(entry));
  status->SetPayload(kErrorInfoUrl, absl::Cord(Serialize(info)));
}

std::string ReasonMetadata(absl::string_view key, const absl::Status& status) {
  UnknownFieldSet info;
  ParsePayload(kErrorInfoUrl, status, &info);
  for (int i = info.field_count() - 1; i >= 0; --i) {
    UnknownFieldSet entry;
    if (info.field(i).number() == kMetadataField &&
        info.field(i).type() == UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(info.field(i).length_delimited()) &&
        Text(entry, kFirstField) == key) {
      return Text(entry, kSecondField);
    }
  }
  return "";
}

}  // namespace selari
