#include "worker/metrics/event_writer.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/status.h"
#include "worker/metrics/event_record.h"

namespace selari {
namespace {

double Seconds(int64_t ms) { return static_cast<double>(ms) / 1000; }

}  // namespace

absl::StatusOr<std::unique_ptr<EventWriter>> EventWriter::Create(
    FileEnv& env, const Options& options) {
  SELARI_RETURN_IF_ERROR(env.CreateDirs(options.dir));
  // TensorBoard reads a folder's files in the order of their names.
  const std::string name = absl::StrFormat(
      "events.out.tfevents.%010d.%s", options.wall_time_ms / 1000,
      absl::StrReplaceAll(options.host, {{"/", "_"}}));
  std::string path = JoinPath(options.dir, name);
  for (int number = 1;; ++number) {
    SELARI_ASSIGN_OR_RETURN(const bool taken, env.Exists(path));
    if (!taken) {
      break;
    }
    path = JoinPath(options.dir, absl::StrCat(name, ".", number));
  }
  auto writer = absl::WrapUnique(new EventWriter(env, path, options));
  const double wall_time = Seconds(options.wall_time_ms);
  SELARI_RETURN_IF_ERROR(writer->log_.Append(FileVersionRecord(wall_time)));
  if (options.restart_step >= 0) {
    SELARI_RETURN_IF_ERROR(
        writer->log_.Append(RestartRecord(wall_time, options.restart_step)));
  }
  return writer;
}

absl::Status EventWriter::Write(int64_t wall_time_ms, int64_t step,
                                absl::Span<const Scalar> scalars) {
  return log_.Append(ScalarsRecord(Seconds(wall_time_ms), step, scalars));
}

}  // namespace selari
