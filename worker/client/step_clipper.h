// StepClipper: clips a worker's own gradient by value and by global norm, for
// BOUNDED and ASYNC, where no other worker's part of the step exists.
//
// Not thread-safe.

#ifndef SELARI_WORKER_CLIENT_STEP_CLIPPER_H_
#define SELARI_WORKER_CLIENT_STEP_CLIPPER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/float_buffer.h"

namespace selari {

class StepClipper {
 public:
  // clip_value 0: not cut. REQUIRES: clip_global_norm > 0.
  StepClipper(int32_t tensor_count, double clip_value, double clip_global_norm)
      : clip_value_(clip_value),
        clip_global_norm_(clip_global_norm),
        gradients_(tensor_count) {}

  // Keeps the gradient of one tensor. With the last one of the step, returns
  // all of them, clipped, by tensor; before, an empty vector.
  // FAILED_PRECONDITION when the tensor has one already, or when one of
  // another step is kept.
  absl::StatusOr<std::vector<std::shared_ptr<const FloatBuffer>>> Add(
      int64_t step, int32_t tensor,
      std::shared_ptr<const FloatBuffer> gradient);

  // No gradient is being kept.
  bool empty() const { return kept_count_ == 0; }

 private:
  const double clip_value_;
  const double clip_global_norm_;
  int64_t step_ = 0;
  size_t kept_count_ = 0;
  std::vector<std::shared_ptr<const FloatBuffer>> gradients_;  // by tensor
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_STEP_CLIPPER_H_
