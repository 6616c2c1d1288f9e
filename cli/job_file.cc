#include "cli/job_file.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/suggest.h"
#include "common/printable.h"
#include "common/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace selari {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Keeps a wrong path from filling the memory.
constexpr int64_t kJobBytesMax = int64_t{1} << 22;

// The parser repeats what it read.
constexpr size_t kMessageBytesMax = 200;

// Keeps the first error; later ones tend to follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(absl::string_view name) : name_(name) {}

  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) {
      return;
    }
    // Of the end of the file the parser has no name.
    message_ =
        absl::EndsWith(message, "got: ")
            ? absl::StrCat(message, "the end of the file; is a } missing?")
            : Excerpt(message, kMessageBytesMax);
    text_ = line < 0 ? absl::StrCat(name_, ": ", message_)
                     : absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ",
                                    message_);
  }
  const std::string& text() const { return text_; }
  // Without the name and the place.
  const std::string& message() const { return message_; }

 private:
  const std::string name_;
  std::string message_;
  std::string text_;
};

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) {
    names.push_back(type->field(i)->name());
  }
  return names;
}

// What `name` was meant to be, or else what there is in `type`.
std::string FieldAdvice(const Descriptor* type, absl::string_view name) {
  const std::vector<std::string> names = FieldNames(type);
  const std::string nearest = Nearest(name, names);
  if (!nearest.empty()) {
    return absl::StrCat(", did you mean ", nearest, "?");
  }
  return absl::StrCat(", which has ",
                      names.empty() ? "no field" : absl::StrJoin(names, ", "));
}

// The parser's 'Message type "selari.v1.Data" has no field named "trian".' with
// advice; `text` as it is when that is not what `error` says.
std::string WithAdvice(std::string text, const std::string& error,
                       const Message& root) {
  const std::vector<std::string> parts = absl::StrSplit(error, '"');
  if (parts.size() < 5 || !absl::StrContains(parts[2], "no field named")) {
    return text;
  }
  const Descriptor* type =
      root.GetDescriptor()->file()->pool()->FindMessageTypeByName(parts[1]);
  return type == nullptr ? text
                         : absl::StrCat(absl::StripSuffix(text, "."),
                                        FieldAdvice(type, parts[3]));
}

absl::Status ParseInto(const std::string& text, absl::string_view name,
                       Message* message) {
  FirstError error(name);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, message)) {
    return absl::InvalidArgumentError(
        WithAdvice(error.text(), error.message(), *message));
  }
  return absl::OkStatus();
}

// "layers[2]" -> name "layers", index 2.
struct PathPart {
  std::string name;
  std::optional<int> index;
};

absl::StatusOr<PathPart> ParsePart(absl::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos) {
    return PathPart{std::string(text), std::nullopt};
  }
  int index = 0;
  if (text.back() != ']' ||
      !absl::SimpleAtoi(text.substr(bracket + 1, text.size() - bracket - 2),
                        &index) ||
      index < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Excerpt(text), "\" must look like layers[0]"));
  }
  return PathPart{std::string(text.substr(0, bracket)), index};
}

absl::StatusOr<const FieldDescriptor*> FindField(const Message& message,
                                                 const std::string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field \"", Excerpt(name), "\" in ",
                     message.GetDescriptor()->name(),
                     FieldAdvice(message.GetDescriptor(), name)));
  }
  return field;
}

// The message that `part` leads to, made if it is not set.
absl::StatusOr<Message*> Descend(Message* message, const PathPart& part) {
  SELARI_ASSIGN_OR_RETURN(const FieldDescriptor* field,
                          FindField(*message, part.name));
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", part.name, "\" is a value and has no fields"));
  }
  const Reflection* reflection = message->GetReflection();
  if (!field->is_repeated()) {
    return reflection->MutableMessage(message, field);
  }
  const int size = reflection->FieldSize(*message, field);
  if (!part.index.has_value() || *part.index >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", part.name, "\" has ", size,
                     " entries; name one, e.g. ", part.name, "[0]"));
  }
  return reflection->MutableRepeatedMessage(message, field, *part.index);
}

// The enum value that `text` means: its name, or the name without the type's
// prefix, in any case.
absl::StatusOr<const EnumValueDescriptor*> FindEnumValue(
    const FieldDescriptor* field, absl::string_view text) {
  const std::string wanted = absl::AsciiStrToUpper(text);
  std::vector<std::string> names;
  for (int i = 0; i < field->enum_type()->value_count(); ++i) {
    const EnumValueDescriptor* value = field->enum_type()->value(i);
    if (value->name() == wanted ||
        absl::EndsWith(value->name(), absl::StrCat("_", wanted))) {
      return value;
    }
    names.push_back(value->name());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Excerpt(text), "\" is not one of ",
                   absl::StrJoin(names, ", "), " for ", field->name()));
}

absl::StatusOr<std::string> ValueAsText(const FieldDescriptor* field,
                                        absl::string_view value) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StartsWith(value, "{") ? std::string(value)
                                          : absl::StrCat("{", value, "}");
    case FieldDescriptor::CPPTYPE_ENUM: {
      SELARI_ASSIGN_OR_RETURN(const EnumValueDescriptor* found,
                              FindEnumValue(field, value));
      return found->name();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      // TextFormat's own quoting for whatever the shell handed over.
      const bool quoted =
          value.size() >= 2 && value.front() == '"' && value.back() == '"';
      if (quoted) {
        return std::string(value);
      }
      std::string escaped = "\"";
      for (const char c : value) {
        if (c == '"' || c == '\\') {
          escaped += '\\';
        }
        escaped += c;
      }
      return escaped + "\"";
    }
    default:
      return std::string(value);
  }
}

// What a number or truth value must be; empty for what has parts of its own,
// of which the parser says which is wrong.
std::string ExpectedText(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return "a whole number in [-2147483648, 2147483647]";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "a whole number in [0, 4294967295]";
    case FieldDescriptor::CPPTYPE_INT64:
      return "a whole number below 2^63";
    case FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number from 0 on, below 2^64";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    default:
      return "";
  }
}

absl::Status Assign(Message* message, const PathPart& part,
                    absl::string_view value) {
  SELARI_ASSIGN_OR_RETURN(const FieldDescriptor* field,
                          FindField(*message, part.name));
  if (part.index.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an entry of \"", part.name,
        "\" cannot be replaced whole; name a field of it, or set the list: ",
        part.name, "=[…]"));
  }
  const bool list = field->is_repeated() && absl::StartsWith(value, "[");
  std::string text(value);
  if (!list) {
    SELARI_ASSIGN_OR_RETURN(text, ValueAsText(field, value));
  }
  message->GetReflection()->ClearField(message, field);
  TextFormat::Parser parser;
  FirstError error("");
  parser.RecordErrorsTo(&error);
  // One value cannot go on with "name: …" and set another field as well.
  const bool parsed =
      list ? parser.MergeFromString(absl::StrCat(field->name(), ": ", text),
                                    message)
           : parser.ParseFieldValueFromString(text, field, message);
  if (parsed) {
    return absl::OkStatus();
  }
  const std::string expected = list ? "" : ExpectedText(field);
  return absl::InvalidArgumentError(
      expected.empty()
          ? WithAdvice(error.message(), error.message(), *message)
          : absl::StrCat(field->name(), " is ", value.empty() ? "empty" : "\"",
                         Excerpt(value), value.empty() ? "" : "\"",
                         ", must be ", expected));
}

absl::Status SetField(absl::string_view path, absl::string_view value,
                      Message* message) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    SELARI_ASSIGN_OR_RETURN(const PathPart part, ParsePart(parts[i]));
    if (i + 1 == parts.size()) {
      return Assign(message, part, value);
    }
    SELARI_ASSIGN_OR_RETURN(message, Descend(message, part));
  }
  return absl::OkStatus();
}

// One value of the field, the `i`th if it is a list.
absl::Status CheckUtf8(const Message& message, const FieldDescriptor* field,
                       int i) {
  const Reflection* reflection = message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return selari::CheckUtf8(
        field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                             : reflection->GetMessage(message, field));
  }
  if (field->type() != FieldDescriptor::TYPE_STRING) {
    return absl::OkStatus();
  }
  const std::string text =
      field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                           : reflection->GetString(message, field);
  return IsUtf8(text) ? absl::OkStatus()
                      : absl::InvalidArgumentError(absl::StrCat(
                            "\"", Excerpt(text), "\" is not UTF-8"));
}

}  // namespace

absl::StatusOr<v1::Job> ParseJob(const std::string& text,
                                 absl::string_view name) {
  v1::Job job;
  SELARI_RETURN_IF_ERROR(ParseInto(text, name, &job));
  return job;
}

absl::StatusOr<v1::Job> LoadJobFile(FileEnv& env, absl::string_view path) {
  absl::StatusOr<std::string> text = ReadFile(env, path, kJobBytesMax);
  if (absl::IsResourceExhausted(text.status())) {
    return absl::InvalidArgumentError(text.status().message());
  }
  SELARI_RETURN_IF_ERROR(Annotate(text.status(), "the job file"));
  if (text->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job file ", path, " is empty"));
  }
  return ParseJob(*text, path);
}

absl::Status SetJobField(absl::string_view assignment, v1::Job* job) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", Excerpt(assignment),
                     ": must be field=value, e.g. "
                     "--set optimizer.learning_rate=0.1"));
  }
  return Annotate(SetField(assignment.substr(0, equals),
                           assignment.substr(equals + 1), job),
                  absl::StrCat("--set ", Excerpt(assignment)));
}

absl::Status CheckUtf8(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int size =
        field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      SELARI_RETURN_IF_ERROR(
          Annotate(CheckUtf8(message, field, i), field->name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace selari
