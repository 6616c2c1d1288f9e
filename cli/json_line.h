// JSON as commands print it: what programs read.
//
// Thread safety: functions without state; one thread at a time writes a file.

#ifndef SELARI_CLI_JSON_LINE_H_
#define SELARI_CLI_JSON_LINE_H_

#include <cstdio>

#include "nlohmann/json.hpp"

namespace selari {

// null for what JSON has not: NaN and infinity.
nlohmann::ordered_json JsonNumber(double value);

// One line, flushed. What is not UTF-8, such as a folder's odd name, is
// replaced.
void PrintJsonLine(const nlohmann::ordered_json& object, std::FILE* out);

}  // namespace selari

#endif  // SELARI_CLI_JSON_LINE_H_
