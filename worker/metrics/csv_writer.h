// CsvWriter: a table of metrics, one row for each step, in a file that any
// spreadsheet and pandas read. RFC 4180 with "\n" as line end.
//
// Each row is in the file when Write returns. A full disk stops nothing: see
// AppendLog. Thread safety: one thread.

#ifndef SELARI_WORKER_METRICS_CSV_WRITER_H_
#define SELARI_WORKER_METRICS_CSV_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "worker/metrics/append_log.h"

namespace selari {

class CsvWriter {
 public:
  struct Options {
    // The file; its folder must exist.
    std::string path;
    // Names of the columns after the first, "step"; letters, digits and "_".
    std::vector<std::string> columns;
    // >= 0: the run goes on from a checkpoint; rows of the file below this
    // step stay, the others are cut off. -1: a new run, a new file.
    int64_t restart_step = -1;
    AppendLog::Options log;
  };

  // Errors as FileEnv; FAILED_PRECONDITION when a run goes on but the file has
  // other columns.
  static absl::StatusOr<std::unique_ptr<CsvWriter>> Create(
      FileEnv& env, const Options& options);

  // One row: `values` in the order of the columns, an empty cell for a missing
  // one. Numbers are written so that reading gives back the same double.
  // REQUIRES: one value for each column.
  [[nodiscard]] absl::Status Write(
      int64_t step, absl::Span<const std::optional<double>> values);

  [[nodiscard]] absl::Status Sync() { return log_.Sync(); }
  const std::string& path() const { return log_.path(); }
  int64_t lost_count() const { return log_.lost_count(); }

 private:
  CsvWriter(FileEnv& env, const Options& options, int64_t size_bytes);

  const std::size_t column_count_;
  AppendLog log_;
};

}  // namespace selari

#endif  // SELARI_WORKER_METRICS_CSV_WRITER_H_
