#include "cli/chaos/json_lines.h"

#include <cstddef>
#include <fstream>
#include <iterator>

namespace selari {

std::vector<nlohmann::json> JsonLines::Read() {
  std::vector<nlohmann::json> objects;
  std::ifstream in(path_, std::ios::binary);
  if (!in || !in.seekg(offset_)) {
    return objects;
  }
  const std::string news{std::istreambuf_iterator<char>(in),
                         std::istreambuf_iterator<char>()};
  offset_ += static_cast<int64_t>(news.size());
  rest_ += news;
  size_t begin = 0;
  for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    nlohmann::json line = nlohmann::json::parse(
        rest_.begin() + static_cast<std::ptrdiff_t>(begin),
        rest_.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
        /*allow_exceptions=*/false);
    if (line.is_object()) {
      objects.push_back(std::move(line));
    }
  }
  rest_.erase(0, begin);
  return objects;
}

}  // namespace selari
