#include "server/shard/reduced_gradient.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"

namespace selari {

ReducedGradient::ReducedGradient(FloatSlice gradient)
    : scratch_blocks_(gradient.data() == nullptr ? 1 : 0) {
  inputs_.push_back(std::move(gradient));
}

ReducedGradient::ReducedGradient(
    Inputs inputs, std::shared_ptr<const ReductionProgram> program,
    AddFunction add)
    : inputs_(std::move(inputs)),
      scratch_blocks_(program->scratch_blocks()),
      program_(std::move(program)),
      add_(add) {
  SELARI_CHECK(inputs_.size() == program_->nodes().size());
  for (const FloatSlice& input : inputs_) {
    SELARI_CHECK(input.size() == size());
    scratch_blocks_ += input.data() == nullptr ? 1 : 0;
  }
}

FloatSlice::Part ReducedGradient::PartAt(int64_t offset, float* scratch) const {
  if (program_ == nullptr) {
    return inputs_[0].PartAt(offset, scratch);
  }
  const int64_t n = std::min(ReductionProgram::kBlockFloats, size() - offset);
  absl::InlinedVector<const float*, 8> blocks;
  float* next = scratch;
  for (const FloatSlice& input : inputs_) {
    blocks.push_back(input.Read(offset, n, next));
    next += input.data() == nullptr ? ReductionProgram::kBlockFloats : 0;
  }
  return {program_->Run(blocks, n, next, add_), n};
}

void ReducedGradient::CopyTo(float* out, float* scratch) const {
  for (int64_t offset = 0; offset < size();) {
    const FloatSlice::Part part = PartAt(offset, scratch);
    std::memcpy(out + offset, part.data,
                static_cast<size_t>(part.size) * sizeof(float));
    offset += part.size;
  }
}

}  // namespace selari
