// CSV with a header line: one row per sample, numbers everywhere, one column
// the label. Fields may be quoted ("a,b", "" for a quote), lines may end in
// \n or \r\n, a UTF-8 byte order mark is skipped.

#ifndef SELARI_WORKER_DATA_CSV_H_
#define SELARI_WORKER_DATA_CSV_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/float_buffer.h"

namespace selari {

struct CsvOptions {
  // The label's column: a name of the header or, when no column has that
  // name, its number counted from 0; -1 is the last one. Empty means the last.
  std::string label_column;
  // Columns to use as features, in this order; empty: all but the label.
  std::vector<std::string> feature_columns;
  // True: labels are class numbers, integers >= 0. False: any finite number.
  bool class_labels = true;
  // Class numbers must be below; 0: as they come.
  int64_t class_count = 0;
  char delimiter = ',';
};

struct CsvTable {
  std::vector<std::string> feature_names;
  int64_t row_count = 0;
  // (row_count, feature_names.size()), row-major.
  std::shared_ptr<FloatBuffer> features;
  // One of the two has row_count elements, by CsvOptions::class_labels.
  std::vector<int32_t> labels;
  std::vector<float> targets;
};

// Parses `text`, the whole file once unpacked; `source` names it in messages.
// Blank lines are skipped. Pure.
// INVALID_ARGUMENT with line and column for a field that is empty, no number,
// not finite or (label) no class number of the job; with the line for a wrong
// count of fields or an open quote; for an unknown column with the names there
// are; for a repeated name; without any row.
absl::StatusOr<CsvTable> ParseCsv(absl::string_view source,
                                  absl::string_view text,
                                  const CsvOptions& options);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_CSV_H_
