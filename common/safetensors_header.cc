#include "common/safetensors_header.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace selari {
namespace {

using nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";
constexpr std::size_t kDataAlignmentBytes = 8;
// Numbers in the arrays in the tensors in the root.
constexpr int kDepthMax = 3;

// Replaces what cannot stand in a message: names come from a foreign file.
std::string Quoted(const std::string& name) {
  constexpr std::size_t kShownMax = 80;
  return json(name.substr(0, kShownMax))
      .dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

// Appends `text` as a JSON string.
absl::Status AppendString(absl::string_view text, std::string& out) {
  out.push_back('"');
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) {
      return absl::InvalidArgumentError(
          absl::StrCat("name or metadata ", Quoted(std::string(text)),
                       " has a character that is not printable ASCII"));
    }
    if (c == '"' || c == '\\') {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  out.push_back('"');
  return absl::OkStatus();
}

absl::Status Bad(const std::string& name, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("safetensors header: tensor ", Quoted(name), " ", what));
}

// The value as a number in [0, 2^63), or empty.
std::optional<int64_t> AsCount(const json& value) {
  if (!value.is_number_unsigned()) {
    return std::nullopt;
  }
  const uint64_t number = *value.get_ptr<const json::number_unsigned_t*>();
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name,
                                            const json& value) {
  if (!value.is_object() || value.size() != 3) {
    return Bad(name, "is no object of dtype, shape and data_offsets");
  }
  const auto type_field = value.find("dtype");
  const auto shape_field = value.find("shape");
  const auto offsets_field = value.find("data_offsets");
  if (type_field == value.end() || !type_field->is_string() ||
      shape_field == value.end() || !shape_field->is_array() ||
      offsets_field == value.end() || !offsets_field->is_array() ||
      offsets_field->size() != 2) {
    return Bad(name, "is no object of dtype, shape and data_offsets");
  }
  SafetensorsEntry entry;
  entry.tensor.name = name;
  const auto& type_name = *type_field->get_ptr<const json::string_t*>();
  const std::optional<ElementType> type = FindElementType(type_name);
  if (!type.has_value()) {
    return Bad(name, absl::StrCat("has unknown dtype ", Quoted(type_name)));
  }
  entry.tensor.type = *type;
  for (const json& extent : *shape_field) {
    const std::optional<int64_t> count = AsCount(extent);
    if (!count.has_value()) {
      return Bad(name, "has an extent that is no number from 0 to 2^63-1");
    }
    entry.tensor.shape.push_back(*count);
  }
  const std::optional<int64_t> begin = AsCount((*offsets_field)[0]);
  const std::optional<int64_t> end = AsCount((*offsets_field)[1]);
  if (!begin.has_value() || !end.has_value() || *begin > *end) {
    return Bad(name, "has impossible data_offsets");
  }
  entry.begin = *begin;
  entry.end = *end;
  const absl::StatusOr<int64_t> bytes = TensorBytes(entry.tensor);
  if (!bytes.ok() || *bytes != *end - *begin) {
    return Bad(name, absl::StrCat("has data_offsets of ", *end - *begin,
                                  " bytes, which do not fit its shape"));
  }
  return entry;
}

absl::Status ParseMetadata(const json& value, SafetensorsHeader& header) {
  if (!value.is_object()) {
    return absl::DataLossError(
        "safetensors header: __metadata__ is no object of strings");
  }
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return absl::DataLossError(
          "safetensors header: __metadata__ is no object of strings");
    }
    header.metadata[key] = *text.get_ptr<const json::string_t*>();
  }
  return absl::OkStatus();
}

// Sorts the entries by place and checks that they cover [0, data_bytes) once.
absl::Status CheckCover(int64_t data_bytes,
                        std::vector<SafetensorsEntry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.tensor.name) <
                     std::tie(b.begin, b.end, b.tensor.name);
            });
  int64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      return Bad(entry.tensor.name,
                 absl::StrCat("starts at data byte ", entry.begin, " where ",
                              covered, " is expected"));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return absl::DataLossError(
        absl::StrCat("safetensors header: the tensors have ", covered,
                     " bytes, the file has ", data_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> BuildSafetensorsHeader(
    const std::vector<TensorDeclaration>& tensors,
    const std::map<std::string, std::string>& metadata) {
  // Written by hand: it is two loops, and the library's ordered object looks
  // through all names for each new one.
  std::string text = "{";
  if (!metadata.empty()) {
    absl::string_view separator = "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      absl::StrAppend(&text, separator);
      SELARI_RETURN_IF_ERROR(AppendString(key, text));
      absl::StrAppend(&text, ":");
      SELARI_RETURN_IF_ERROR(AppendString(value, text));
      separator = ",";
    }
    absl::StrAppend(&text, "}");
  }
  std::set<absl::string_view> names = {kMetadataKey};
  int64_t offset = 0;
  for (const TensorDeclaration& tensor : tensors) {
    SELARI_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(tensor));
    const int64_t begin = offset;
    if (!names.insert(tensor.name).second ||
        __builtin_add_overflow(begin, bytes, &offset)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", Quoted(tensor.name),
                       ": the name is taken or the file would be too large"));
    }
    absl::StrAppend(&text, text.size() == 1 ? "" : ",");
    SELARI_RETURN_IF_ERROR(AppendString(tensor.name, text));
    absl::StrAppend(&text, ":{\"dtype\":\"", ElementTypeName(tensor.type),
                    "\",\"shape\":[", absl::StrJoin(tensor.shape, ","),
                    "],\"data_offsets\":[", begin, ",", offset, "]}");
  }
  absl::StrAppend(&text, "}");
  while (text.size() % kDataAlignmentBytes != 0) {
    text.push_back(' ');
  }
  if (static_cast<int64_t>(text.size()) > kSafetensorsHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a safetensors header may have ", kSafetensorsHeaderBytesMax,
        " bytes, ", tensors.size(), " tensors need ", text.size()));
  }
  std::string out;
  for (int i = 0; i < 8; ++i) {
    out.push_back(
        static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i)));
  }
  return out + text;
}

absl::StatusOr<int64_t> ParseSafetensorsPrefix(absl::string_view prefix,
                                               int64_t file_bytes) {
  if (prefix.size() != kSafetensorsPrefixBytes ||
      file_bytes < kSafetensorsPrefixBytes) {
    return absl::DataLossError(absl::StrCat("a file of ", file_bytes,
                                            " bytes is no safetensors file"));
  }
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) {
    size =
        (size << 8) | static_cast<uint8_t>(prefix[static_cast<std::size_t>(i)]);
  }
  const auto room = static_cast<uint64_t>(std::min(
      file_bytes - kSafetensorsPrefixBytes, kSafetensorsHeaderBytesMax));
  if (size < 2 || size > room) {
    return absl::DataLossError(absl::StrCat(
        "safetensors header of ", size, " bytes in a file of ", file_bytes));
  }
  return static_cast<int64_t>(size);
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    absl::string_view json_text, int64_t data_bytes) {
  // The library keeps the last of two equal keys, but a file with two is
  // forged. Sets of keys, one for each object that is open.
  std::vector<std::set<std::string>> open;
  bool repeated = false;
  bool too_deep = false;
  const json::parser_callback_t watch =
      [&](int depth, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) {
          open.emplace_back();
        } else if (event == json::parse_event_t::object_end) {
          open.pop_back();
        } else if (event == json::parse_event_t::key) {
          const auto& key = *parsed.get_ptr<json::string_t*>();
          repeated = repeated || !open.back().insert(key).second;
        }
        // What is dropped takes no memory: a file of brackets is harmless.
        too_deep = too_deep || depth > kDepthMax;
        return !too_deep;
      };
  const json root =
      json::parse(json_text.begin(), json_text.end(), watch,
                  /*allow_exceptions=*/false, /*ignore_comments=*/false);
  if (repeated) {
    return absl::DataLossError("safetensors header: a name stands twice");
  }
  if (too_deep || !root.is_object() || json_text.front() != '{') {
    return absl::DataLossError(
        "safetensors header is no JSON object of tensors");
  }
  SafetensorsHeader header;
  for (const auto& [name, value] : root.items()) {
    if (name == kMetadataKey) {
      SELARI_RETURN_IF_ERROR(ParseMetadata(value, header));
      continue;
    }
    SELARI_ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(name, value));
    header.entries.push_back(std::move(entry));
  }
  SELARI_RETURN_IF_ERROR(CheckCover(data_bytes, header.entries));
  return header;
}

}  // namespace selari
