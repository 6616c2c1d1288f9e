#include "server/checkpoint/field_difference.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"

namespace selari {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::TextFormat;

constexpr absl::string_view kNotSet = "not set";
// Of a value in a sentence.
constexpr size_t kTextBytesMax = 100;

std::string Shortened(std::string text) {
  if (text.size() > kTextBytesMax) {
    text.resize(kTextBytesMax);
    text += "...";
  }
  return text;
}

// A single value, or entry `index` of a list.
std::string ValueText(const Message& message, const FieldDescriptor* field,
                      int index = -1) {
  std::string text;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintToString(
        index < 0 ? reflection.GetMessage(message, field)
                  : reflection.GetRepeatedMessage(message, field, index),
        &text);
    return absl::StrCat("{ ", text, "}");
  }
  TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

std::string ListText(const Message& message, const FieldDescriptor* field) {
  std::vector<std::string> entries;
  const int size = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < size; ++i) {
    entries.push_back(ValueText(message, field, i));
  }
  return absl::StrCat("[", absl::StrJoin(entries, ", "), "]");
}

class Comparer {
 public:
  std::vector<FieldDifference> Take() { return std::move(differences_); }

  // `prefix` is empty or ends with a dot.
  void Compare(const Message& was, const Message& is,
               const std::string& prefix) {
    SELARI_CHECK(was.GetDescriptor() == is.GetDescriptor());
    for (int i = 0; i < was.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* field = was.GetDescriptor()->field(i);
      const std::string path = prefix + field->name();
      const OneofDescriptor* oneof = field->real_containing_oneof();
      if (oneof != nullptr && !SameMember(was, is, oneof)) {
        if (oneof->field(0) == field) {
          Add(prefix + oneof->name(), MemberName(was, oneof),
              MemberName(is, oneof), /*is_value=*/false);
        }
      } else if (field->is_repeated()) {
        CompareLists(was, is, field, path);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (HasField(was, field) || HasField(is, field)) {
          Compare(was.GetReflection()->GetMessage(was, field),
                  is.GetReflection()->GetMessage(is, field), path + ".");
        }
      } else {
        CompareValues(was, is, field, path);
      }
    }
  }

 private:
  static bool HasField(const Message& message, const FieldDescriptor* field) {
    return message.GetReflection()->HasField(message, field);
  }

  static const FieldDescriptor* Member(const Message& message,
                                       const OneofDescriptor* oneof) {
    return message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
  }
  static bool SameMember(const Message& was, const Message& is,
                         const OneofDescriptor* oneof) {
    return Member(was, oneof) == Member(is, oneof);
  }
  static std::string MemberName(const Message& message,
                                const OneofDescriptor* oneof) {
    const FieldDescriptor* member = Member(message, oneof);
    return member == nullptr ? std::string(kNotSet) : member->name();
  }

  void CompareValues(const Message& was, const Message& is,
                     const FieldDescriptor* field, const std::string& path) {
    const auto text = [field](const Message& message) {
      return field->has_presence() && !HasField(message, field)
                 ? std::string(kNotSet)
                 : ValueText(message, field);
    };
    Add(path, text(was), text(is), /*is_value=*/text(was) != kNotSet);
  }

  void CompareLists(const Message& was, const Message& is,
                    const FieldDescriptor* field, const std::string& path) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      Add(path, ListText(was, field), ListText(is, field), /*is_value=*/true);
      return;
    }
    const google::protobuf::Reflection& reflection = *was.GetReflection();
    const int was_size = reflection.FieldSize(was, field);
    const int is_size = reflection.FieldSize(is, field);
    for (int i = 0; i < std::max(was_size, is_size); ++i) {
      const std::string entry = absl::StrCat(path, "[", i, "]");
      if (i < was_size && i < is_size) {
        Compare(reflection.GetRepeatedMessage(was, field, i),
                reflection.GetRepeatedMessage(is, field, i), entry + ".");
      } else {
        Add(entry,
            i < was_size ? ValueText(was, field, i) : std::string(kNotSet),
            i < is_size ? ValueText(is, field, i) : std::string(kNotSet),
            /*is_value=*/false);
      }
    }
  }

  void Add(const std::string& path, const std::string& was,
           const std::string& is, bool is_value) {
    if (was != is) {
      differences_.push_back({path, Shortened(was), Shortened(is),
                              is_value && was.size() <= kTextBytesMax});
    }
  }

  std::vector<FieldDifference> differences_;
};

}  // namespace

std::vector<FieldDifference> CompareFields(const Message& was,
                                           const Message& is) {
  Comparer comparer;
  comparer.Compare(was, is, "");
  return comparer.Take();
}

}  // namespace selari
