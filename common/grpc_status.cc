#include "common/grpc_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/unknown_field_set.h"

namespace selari {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// google.rpc.Status: code = 1, message = 2, repeated google.protobuf.Any
// details = 3 (type_url = 1, value = 2). Debian's gRPC links the message but
// has no header for it.
constexpr int kCodeField = 1;
constexpr int kMessageField = 2;
constexpr int kDetailsField = 3;
constexpr int kTypeUrlField = 1;
constexpr int kValueField = 2;

constexpr size_t kMessageCharsMax = 1024;

// Empty unless the field is there as a string.
std::string Text(const UnknownFieldSet& fields, int number) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number &&
        fields.field(i).type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      return fields.field(i).length_delimited();
    }
  }
  return "";
}

// What stands behind the last ": ".
absl::string_view LastPart(absl::string_view text) {
  const std::size_t colon = text.rfind(": ");
  return colon == absl::string_view::npos ? text : text.substr(colon + 2);
}

// What gRPC itself says of a connection, in words for whoever typed the
// address; callers put the peer's name before it. Other messages come from the
// peer, or are as good as they get.
std::string Readable(const grpc::Status& status) {
  std::string text = status.error_message();  // By value.
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      if (absl::StartsWith(text, "failed to connect to all addresses")) {
        return absl::StrCat("no connection: ", LastPart(text),
                            "; check the address, and that it was started");
      }
      if (absl::StartsWith(text, "DNS resolution failed")) {
        return absl::StrCat("the host's name was not found: ", LastPart(text),
                            "; check the address");
      }
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (text == "Deadline Exceeded") {
        return "no answer in time; check the address, and that it runs";
      }
      break;
    case grpc::StatusCode::UNIMPLEMENTED:
      if (text.empty()) {
        return "it does not know this call; check that the address is not "
               "that of another program";
      }
      break;
    default:
      break;
  }
  return text;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  const std::string message(status.message().substr(0, kMessageCharsMax));
  UnknownFieldSet details;
  details.AddVarint(kCodeField, static_cast<uint64_t>(status.code()));
  details.AddLengthDelimited(kMessageField, message);
  bool has_payload = false;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& value) {
    UnknownFieldSet any;
    any.AddLengthDelimited(kTypeUrlField, std::string(url));
    any.AddLengthDelimited(kValueField, std::string(value));
    std::string bytes;
    any.SerializeToString(&bytes);
    details.AddLengthDelimited(kDetailsField, bytes);
    has_payload = true;
  });
  std::string bytes;
  if (has_payload) {
    details.SerializeToString(&bytes);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      bytes);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  const int code = status.error_code();
  absl::Status result(code > 0 && code <= 16
                          ? static_cast<absl::StatusCode>(code)
                          : absl::StatusCode::kUnknown,
                      Readable(status));
  UnknownFieldSet details;
  if (!details.ParseFromString(status.error_details())) {
    return result;
  }
  for (int i = 0; i < details.field_count(); ++i) {
    UnknownFieldSet any;
    if (details.field(i).number() == kDetailsField &&
        details.field(i).type() == UnknownField::TYPE_LENGTH_DELIMITED &&
        any.ParseFromString(details.field(i).length_delimited())) {
      result.SetPayload(Text(any, kTypeUrlField),
                        absl::Cord(Text(any, kValueField)));
    }
  }
  return result;
}

}  // namespace selari
