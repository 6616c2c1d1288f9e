#include "cli/json_line.h"

#include <cmath>
#include <string>

namespace selari {

nlohmann::ordered_json JsonNumber(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value)
                              : nlohmann::ordered_json(nullptr);
}

void PrintJsonLine(const nlohmann::ordered_json& object, std::FILE* out) {
  const std::string line = object.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::fprintf(out, "%s\n", line.c_str());
  std::fflush(out);
}

}  // namespace selari
