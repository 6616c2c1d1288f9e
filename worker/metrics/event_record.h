// One record of a TensorBoard event file, as bytes: a tensorflow.Event,
// encoded by hand (five fields need no generated code), in TFRecord framing.
// docs/FORMAT.md shows the layout. Pure functions, thread-safe.

#ifndef SELARI_WORKER_METRICS_EVENT_RECORD_H_
#define SELARI_WORKER_METRICS_EVENT_RECORD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace selari {

// One number of a chart.
struct Scalar {
  // The chart, e.g. "train/loss"; charts with one prefix stand together.
  std::string tag;
  // TensorBoard keeps single precision.
  double value = 0;
};

// Length, its checksum, `data`, its checksum.
std::string TfRecord(absl::string_view data);

// The first record of every file. Times are seconds since 1970.
std::string FileVersionRecord(double wall_time);

// Tells readers to forget what earlier files of the folder say about `step`
// and later: a run goes on from there.
std::string RestartRecord(double wall_time, int64_t step);

// Values of one step.
std::string ScalarsRecord(double wall_time, int64_t step,
                          absl::Span<const Scalar> scalars);

}  // namespace selari

#endif  // SELARI_WORKER_METRICS_EVENT_RECORD_H_
