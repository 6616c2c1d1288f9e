#include "cli/bench/expected_weights.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "common/status.h"

namespace selari {
namespace {

// 8 KiB: gradient, two versions of the weights and two slots stay in L1.
constexpr int64_t kBlockFloats = 2048;

// One block of the model, taken from step to step.
class Block {
 public:
  Block(const WireShape& shape, const ShardJob& job)
      : shape_(shape), job_(job) {}

  // Elements [first, first + n) after `version` steps; valid until the next
  // call. REQUIRES: n <= kBlockFloats.
  const float* After(int64_t version, int64_t first, int64_t n) {
    FillGradient(first, n);
    std::fill_n(weights_[0], n, 0.0f);
    for (int slot = 0; slot < job_.optimizer->SlotCount(); ++slot) {
      std::fill_n(slots_[slot], n, job_.optimizer->InitialSlotValue(slot));
    }
    for (int64_t step = 1; step <= version; ++step) {
      ApplyContext context;
      context.step = step;
      context.learning_rate = job_.learning_rate.At(step);
      UpdateArrays arrays;
      arrays.n = n;
      arrays.weights = weights_[(step - 1) % 2];
      arrays.next_weights = weights_[step % 2];
      arrays.grad = grad_;
      arrays.slots[0] = slots_[0];
      arrays.slots[1] = slots_[1];
      job_.optimizer->Apply(context, arrays);
    }
    return weights_[version % 2];
  }

 private:
  void FillGradient(int64_t first, int64_t n) {
    const auto size = static_cast<size_t>(n);
    FillWireGradient(0, first, {grad_, size});
    for (int32_t worker = 1; worker < shape_.workers; ++worker) {
      FillWireGradient(worker, first, {addend_, size});
      job_.add(n, grad_, addend_, grad_);
    }
  }

  const WireShape& shape_;
  const ShardJob& job_;
  alignas(64) float grad_[kBlockFloats];
  alignas(64) float addend_[kBlockFloats];
  alignas(64) float weights_[2][kBlockFloats];
  alignas(64) float slots_[kSlotCountMax][kBlockFloats];
};

}  // namespace

absl::Status ExpectedWeights::CheckPart(absl::Span<const float> got,
                                        int64_t first, int64_t version) const {
  Block block(shape_, *job_);
  const auto size = static_cast<int64_t>(got.size());
  for (int64_t begin = 0; begin < size; begin += kBlockFloats) {
    const int64_t n = std::min(kBlockFloats, size - begin);
    const float* const want = block.After(version, first + begin, n);
    if (std::memcmp(want, got.data() + begin,
                    static_cast<size_t>(n) * sizeof(float)) == 0) {
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      // The bits are compared on purpose.
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
      if (std::memcmp(want + i, got.data() + begin + i, sizeof(float)) != 0) {
        return absl::DataLossError(absl::StrCat(
            "weight ", first + begin + i, " of the model is ", got[begin + i],
            " after ", version, " steps, must be ", want[i]));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ExpectedWeights::Check(absl::Span<const float> got, int64_t first,
                                    int64_t version) const {
  // A thread for less than this costs more than it saves.
  constexpr size_t kFloatsPerThreadMin = 1 << 18;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t threads =
      std::min(cores, std::max<size_t>(1, got.size() / kFloatsPerThreadMin));
  std::vector<absl::Status> statuses(threads);
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    const size_t begin = got.size() * i / threads;
    const size_t end = got.size() * (i + 1) / threads;
    const auto part = [this, &statuses, got, first, version, i, begin, end] {
      statuses[i] = CheckPart(got.subspan(begin, end - begin),
                              first + static_cast<int64_t>(begin), version);
    };
    if (i + 1 == threads) {
      part();
    } else {
      running.emplace_back(part);
    }
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  for (const absl::Status& status : statuses) {
    SELARI_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace selari
