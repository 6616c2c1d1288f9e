// EventWriter: the event file that TensorBoard shows.
//
//   SELARI_ASSIGN_OR_RETURN(auto events, EventWriter::Create(env, options));
//   events->Write(now_ms, 50, {{"train/loss", 0.31}, {"train/accuracy", 0.9}});
//
// Each Write is in the file when it returns. A full disk stops nothing: see
// AppendLog. Thread safety: one thread.

#ifndef SELARI_WORKER_METRICS_EVENT_WRITER_H_
#define SELARI_WORKER_METRICS_EVENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "worker/metrics/append_log.h"
#include "worker/metrics/event_record.h"

namespace selari {

class EventWriter {
 public:
  struct Options {
    // The folder that `tensorboard --logdir` is given; made if missing.
    std::string dir;
    // This machine's name; part of the file's.
    std::string host;
    // Time of the start, milliseconds since 1970; part of the file's name.
    int64_t wall_time_ms = 0;
    // >= 0: the run goes on from a checkpoint; points of earlier files from
    // this step on are not shown again. -1: a new run.
    int64_t restart_step = -1;
    AppendLog::Options log;
  };

  // Starts a new file "events.out.tfevents.SECONDS.HOST"; one of that name
  // stays, the new one then gets a number behind. Errors as FileEnv.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Create(
      FileEnv& env, const Options& options);

  // Values of one step at one time. Errors as FileEnv; see AppendLog.
  [[nodiscard]] absl::Status Write(int64_t wall_time_ms, int64_t step,
                                   absl::Span<const Scalar> scalars);

  [[nodiscard]] absl::Status Sync() { return log_.Sync(); }
  const std::string& path() const { return log_.path(); }
  int64_t lost_count() const { return log_.lost_count(); }

 private:
  EventWriter(FileEnv& env, const std::string& path, const Options& options)
      : log_(env, path, /*size_bytes=*/0, options.log) {}

  AppendLog log_;
};

}  // namespace selari

#endif  // SELARI_WORKER_METRICS_EVENT_WRITER_H_
