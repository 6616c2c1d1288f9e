#include "server/coordinator/report_check.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace selari {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// 1024 workers' sum is an int64, and a double holds each exactly.
constexpr int64_t kCountMax = int64_t{1} << 52;

absl::Status CheckCount(absl::string_view field, int64_t value) {
  if (value >= 0 && value <= kCountMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("reports ", field, " ", value, ", must be in [0, 2^52]"));
}

// All int64 of a report are steps, counts or times, in whichever part.
absl::Status CheckCounts(const std::string& prefix, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const std::string name = absl::StrCat(prefix, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      SELARI_RETURN_IF_ERROR(
          CheckCount(name, reflection.GetInt64(message, field)));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count =
          field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        SELARI_RETURN_IF_ERROR(
            CheckCounts(absl::StrCat(name, "."),
                        field->is_repeated()
                            ? reflection.GetRepeatedMessage(message, field, i)
                            : reflection.GetMessage(message, field)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReport(const v1::ReportProgressRequest& request) {
  const absl::Status status = CheckCounts("", request);
  return status.ok()
             ? status
             : absl::InvalidArgumentError(absl::StrCat(
                   "worker ", request.worker_id(), " ", status.message()));
}

}  // namespace selari
