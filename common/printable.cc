#include "common/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace selari {
namespace {

// Bytes of the UTF-8 character at the front, 0 if there is none: RFC 3629, so
// no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t CharacterBytes(absl::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const uint8_t first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const uint8_t second = byte(1);
  const bool refused =
      (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return refused ? 0 : size;
}

// Of the ASCII controls, and of U+0080 to U+009F, which steer terminals too.
bool IsControl(absl::string_view character) {
  const uint8_t first = static_cast<uint8_t>(character[0]);
  return character.size() == 1
             ? first < 0x20 || first == 0x7f
             : first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

std::string Escaped(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return absl::StrCat("\\x",
                          absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
  }
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const std::size_t size = CharacterBytes(text);
    if (size == 0) {
      return false;
    }
    text.remove_prefix(size);
  }
  return true;
}

std::string Printable(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = CharacterBytes(text);
    const absl::string_view front = text.substr(0, size == 0 ? 1 : size);
    if (size != 0 && !IsControl(front)) {
      absl::StrAppend(&printable, front);
    } else {
      for (const char c : front) {
        printable += Escaped(c);
      }
    }
    text.remove_prefix(front.size());
  }
  return printable;
}

std::string Excerpt(absl::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) {
    return Printable(text);
  }
  // Not in the middle of a character.
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(Printable(text.substr(0, end == 0 ? bytes_max : end)),
                      "… (", text.size(), " bytes)");
}

}  // namespace selari
