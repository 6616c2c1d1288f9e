// JsonLines: the JSON objects that another process appends to a file, one a
// line, as they come. Other lines, such as its standard error's, are passed
// over.
//
// Not thread-safe.

#ifndef SELARI_CLI_CHAOS_JSON_LINES_H_
#define SELARI_CLI_CHAOS_JSON_LINES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace selari {

class JsonLines {
 public:
  explicit JsonLines(std::string path) : path_(std::move(path)) {}

  // Those whose lines have ended since the last call. Never blocks for the
  // writer; none while there is no file.
  std::vector<nlohmann::json> Read();

 private:
  const std::string path_;
  int64_t offset_ = 0;  // bytes read so far
  std::string rest_;    // of a line that has not ended
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_JSON_LINES_H_
