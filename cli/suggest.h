// What a word was meant to be.
//
// Thread safety: pure function.

#ifndef SELARI_CLI_SUGGEST_H_
#define SELARI_CLI_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace selari {

// The nearest of `known` to `word`, by letters left out, added, replaced or
// swapped; empty when none is near.
std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& known);

}  // namespace selari

#endif  // SELARI_CLI_SUGGEST_H_
