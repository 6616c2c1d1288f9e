// ReducedGradient: the gradient of one step for one chunk, summed over all
// leaves, as references to what the workers sent and the program that adds it
// up. It is read part by part, so the sum is never written to memory unless
// somebody asks for a copy.
//
// A plain value: copies share the memory. Thread safety: const methods from
// any thread, each with its own scratch.

#ifndef SELARI_SERVER_SHARD_REDUCED_GRADIENT_H_
#define SELARI_SERVER_SHARD_REDUCED_GRADIENT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "common/shard_message.h"
#include "server/shard/reduction_program.h"

namespace selari {

class ReducedGradient {
 public:
  using Inputs = absl::InlinedVector<FloatSlice, 2>;

  ReducedGradient() = default;
  // One gradient, as it is.
  explicit ReducedGradient(FloatSlice gradient);
  // One for each node of `program`, all of one size. `add` is used for ever.
  ReducedGradient(Inputs inputs,
                  std::shared_ptr<const ReductionProgram> program,
                  AddFunction add);

  // Floats.
  int64_t size() const { return inputs_.empty() ? 0 : inputs_[0].size(); }
  // Blocks of ReductionProgram::kBlockFloats that PartAt needs as scratch: for
  // partial sums, and for inputs that cannot be read in place. 0 when the first
  // part is all of it.
  int32_t scratch_blocks() const { return scratch_blocks_; }

  // Some floats of the sum from `offset` on, at least one: in an only input,
  // where they lie, or in `scratch` (scratch_blocks, kBlockFloats).
  // REQUIRES: 0 <= offset < size().
  FloatSlice::Part PartAt(int64_t offset, float* scratch) const;

  // Writes the sum to `out` (size).
  void CopyTo(float* out, float* scratch) const;

 private:
  Inputs inputs_;
  int32_t scratch_blocks_ = 0;
  std::shared_ptr<const ReductionProgram> program_;
  AddFunction add_ = nullptr;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_REDUCED_GRADIENT_H_
