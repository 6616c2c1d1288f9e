// Where sentences for people go by default: one line each on standard error.

#ifndef SELARI_COMMON_LOG_LINE_H_
#define SELARI_COMMON_LOG_LINE_H_

#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/printable.h"

namespace selari {

using LogSink = std::function<void(absl::string_view sentence)>;

// `log`, or standard error when it is null. One write for each line, so that
// lines of several threads and processes do not mix.
inline LogSink LogOrStandardError(LogSink log) {
  if (log != nullptr) {
    return log;
  }
  return [](absl::string_view sentence) {
    const std::string line = absl::StrCat(Printable(sentence), "\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
}

}  // namespace selari

#endif  // SELARI_COMMON_LOG_LINE_H_
