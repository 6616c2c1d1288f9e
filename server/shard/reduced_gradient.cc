#include "server/shard/reduced_gradient.h"

#include <algorithm>

#include "common/check.h"

namespace selari {

ReducedGradient::ReducedGradient(FloatSlice gradient) {
  pointers_.push_back(gradient.data);
  inputs_.push_back(std::move(gradient));
}

ReducedGradient::ReducedGradient(
    Inputs inputs, std::shared_ptr<const ReductionProgram> program,
    AddFunction add)
    : inputs_(std::move(inputs)), program_(std::move(program)), add_(add) {
  SELARI_CHECK(inputs_.size() == program_->nodes().size());
  for (const FloatSlice& input : inputs_) {
    SELARI_CHECK(input.size == size());
    pointers_.push_back(input.data);
  }
}

const float* ReducedGradient::Block(int64_t offset, int64_t n,
                                    float* scratch) const {
  if (program_ == nullptr) {
    return pointers_[0] + offset;
  }
  return program_->Run(pointers_, offset, n, scratch, add_);
}

void ReducedGradient::CopyTo(float* out, float* scratch) const {
  for (int64_t offset = 0; offset < size();
       offset += ReductionProgram::kBlockFloats) {
    const int64_t n = std::min(ReductionProgram::kBlockFloats, size() - offset);
    std::copy_n(Block(offset, n, scratch), n, out + offset);
  }
}

}  // namespace selari
