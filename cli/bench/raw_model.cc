#include "cli/bench/raw_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace selari {
namespace {

// 16 KiB: sum and result stay in L1 between the passes over them.
constexpr int64_t kBlockFloats = 4096;

}  // namespace

RawModel::RawModel(std::shared_ptr<const ShardJob> job, int64_t floats)
    : job_(std::move(job)), weights_(FloatBuffer::Allocate(floats)) {
  for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
    slots_[slot] = FloatBuffer::Allocate(floats);
  }
  Reset();
}

void RawModel::Reset() {
  std::fill_n(weights_->data(), weights_->size(), 0.0f);
  for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
    std::fill_n(slots_[slot]->data(), slots_[slot]->size(),
                job_->optimizer->InitialSlotValue(slot));
  }
}

// The kernels write the next weights to another place. Through a block that
// stays in L1 the update is in place for the memory, which is the fastest that
// someone who needs no older version could do.
void RawModel::Apply(int64_t step, int64_t first, int64_t n,
                     absl::Span<const float* const> contributions) {
  alignas(64) float sum[kBlockFloats];
  alignas(64) float next[kBlockFloats];
  ApplyContext context;
  context.step = step;
  context.learning_rate = job_->learning_rate.At(step);
  for (int64_t begin = 0; begin < n; begin += kBlockFloats) {
    const int64_t count = std::min(kBlockFloats, n - begin);
    const float* gradient = contributions[0] + begin;
    for (size_t i = 1; i < contributions.size(); ++i) {
      job_->add(count, gradient, contributions[i] + begin, sum);
      gradient = sum;
    }
    UpdateArrays arrays;
    arrays.n = count;
    arrays.grad = gradient;
    float* const weights = weights_->data() + first + begin;
    arrays.weights = weights;
    arrays.next_weights = next;
    for (int slot = 0; slot < job_->optimizer->SlotCount(); ++slot) {
      arrays.slots[slot] = slots_[slot]->data() + first + begin;
    }
    job_->optimizer->Apply(context, arrays);
    std::memcpy(weights, next, static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace selari
