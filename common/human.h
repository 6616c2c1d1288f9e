// Numbers as people read them, each with its unit.
//
// Thread safety: pure functions.

#ifndef SELARI_COMMON_HUMAN_H_
#define SELARI_COMMON_HUMAN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace selari {

// "512 B", "1.5 kB", "2.3 GB": powers of 1000, three digits at least.
std::string HumanBytes(int64_t bytes);
// "950", "12.3 k", "4.5 M".
std::string HumanCount(double count);
// "0.3 s", "42 s", "3 min 20 s", "2 h 5 min"; negative: "unknown".
std::string HumanSeconds(double seconds);
// "1 server", "2 servers".
std::string CountOf(int64_t count, absl::string_view thing);

}  // namespace selari

#endif  // SELARI_COMMON_HUMAN_H_
