// RunRecorder: the files a run leaves for later: metrics.csv and a TensorBoard
// event file in its output folder.
//
// Never stops a run: a full disk is remembered and told by Close.
//
// Thread safety: one thread.

#ifndef SELARI_CLI_RUN_RECORDER_H_
#define SELARI_CLI_RUN_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/train_view.h"
#include "common/file_env.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

class RunRecorder {
 public:
  // `start_step` > 0: the run goes on from there; what the files say about
  // later steps is forgotten. Errors of the disk name the file.
  static absl::StatusOr<std::unique_ptr<RunRecorder>> Create(
      FileEnv& env, const std::string& output_dir, int64_t start_step);
  virtual ~RunRecorder() = default;

  virtual void OnStep(const TrainProgress& progress) = 0;
  virtual void OnEvaluation(const v1::Evaluation& evaluation) = 0;
  // The first error of any write. REQUIRES: no call afterwards.
  [[nodiscard]] virtual absl::Status Close() = 0;
};

}  // namespace selari

#endif  // SELARI_CLI_RUN_RECORDER_H_
