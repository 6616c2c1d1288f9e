#include "worker/metrics/csv_writer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/status.h"

namespace selari {
namespace {

// A row for each of a hundred million steps; more is a wrong path.
constexpr int64_t kFileBytesMax = int64_t{16} << 30;

std::string HeaderLine(const CsvWriter::Options& options) {
  return absl::StrCat("step,", absl::StrJoin(options.columns, ","), "\n");
}

// The shortest of the usual texts that reads back as the same double.
std::string NumberText(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && read == value) {
      return text;
    }
  }
  return absl::StrFormat("%.17g", value);
}

// Bytes of the header and the whole rows below `restart_step` of an old file.
absl::StatusOr<int64_t> KeptBytes(FileEnv& env,
                                  const CsvWriter::Options& options) {
  SELARI_ASSIGN_OR_RETURN(const bool exists, env.Exists(options.path));
  if (options.restart_step < 0 || !exists) {
    return 0;
  }
  SELARI_ASSIGN_OR_RETURN(const std::string file,
                          ReadFile(env, options.path, kFileBytesMax));
  const std::string header = HeaderLine(options);
  if (!absl::StartsWith(file, header)) {
    // An interrupted start leaves part of the header at most.
    if (absl::StartsWith(header, file)) {
      return 0;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", options.path,
        "\" has other columns than this run writes; move it away"));
  }
  std::size_t kept = header.size();
  while (true) {
    const std::size_t end = file.find('\n', kept);
    if (end == std::string::npos) {
      return static_cast<int64_t>(kept);
    }
    const absl::string_view row =
        absl::string_view(file).substr(kept, end - kept);
    int64_t step = 0;
    if (!absl::SimpleAtoi(row.substr(0, row.find(',')), &step) ||
        step >= options.restart_step) {
      return static_cast<int64_t>(kept);
    }
    kept = end + 1;
  }
}

}  // namespace

CsvWriter::CsvWriter(FileEnv& env, const Options& options, int64_t size_bytes)
    : column_count_(options.columns.size()),
      log_(env, options.path, size_bytes, options.log) {}

absl::StatusOr<std::unique_ptr<CsvWriter>> CsvWriter::Create(
    FileEnv& env, const Options& options) {
  SELARI_ASSIGN_OR_RETURN(const int64_t kept_bytes, KeptBytes(env, options));
  auto writer = absl::WrapUnique(new CsvWriter(env, options, kept_bytes));
  SELARI_RETURN_IF_ERROR(
      writer->log_.Append(kept_bytes == 0 ? HeaderLine(options) : ""));
  return writer;
}

absl::Status CsvWriter::Write(int64_t step,
                              absl::Span<const std::optional<double>> values) {
  SELARI_CHECK(values.size() == column_count_);
  std::string row = absl::StrCat(step);
  for (const std::optional<double>& value : values) {
    absl::StrAppend(&row, ",", value.has_value() ? NumberText(*value) : "");
  }
  return log_.Append(row + "\n");
}

}  // namespace selari
