#include "common/human.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace selari {
namespace {

std::string Scaled(double value, const char* const* units, int unit_count) {
  int unit = 0;
  // 999.5 would print as "1000".
  while (unit + 1 < unit_count && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const char* format_unit = units[unit];
  if (unit == 0 || value >= 99.95) {
    return absl::StrFormat("%.0f%s", value, format_unit);
  }
  return absl::StrFormat("%.1f%s", value, format_unit);
}

}  // namespace

std::string HumanBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {" B",  " kB", " MB",
                                           " GB", " TB", " PB"};
  return Scaled(static_cast<double>(bytes), kUnits, 6);
}

std::string HumanCount(double count) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G"};
  return Scaled(count, kUnits, 4);
}

std::string HumanSeconds(double seconds) {
  if (!(seconds >= 0) || !std::isfinite(seconds)) {
    return "unknown";
  }
  if (seconds < 9.95) {
    return absl::StrFormat("%.1f s", seconds);
  }
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) {
    return absl::StrCat(whole, " s");
  }
  if (whole < 3600) {
    return absl::StrCat(whole / 60, " min ", whole % 60, " s");
  }
  return absl::StrCat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

std::string CountOf(int64_t count, absl::string_view thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

}  // namespace selari
