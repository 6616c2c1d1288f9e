// Text from outside (a file, a command line, another process) on its way into
// a message for people: bytes of a wrong file must neither steer the terminal
// nor fill it.
//
// Thread safety: pure functions.

#ifndef SELARI_COMMON_PRINTABLE_H_
#define SELARI_COMMON_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace selari {

// What an error repeats of one name or value.
constexpr std::size_t kExcerptBytesMax = 64;

// Whether it can stand in a string of a protobuf message.
bool IsUtf8(absl::string_view text);

// The text in one line of valid UTF-8: control characters, line ends among
// them, and bytes that are no UTF-8 become \n, \t or \x1b. A backslash stays,
// so that printing a printable text again changes nothing.
std::string Printable(absl::string_view text);

// Printable, and when it has more than `bytes_max` bytes its beginning, "…" and
// the size.
std::string Excerpt(absl::string_view text,
                    std::size_t bytes_max = kExcerptBytesMax);

}  // namespace selari

#endif  // SELARI_COMMON_PRINTABLE_H_
