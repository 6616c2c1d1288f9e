#include "cli/bench/wire_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/incarnation.h"
#include "common/job_config.h"

namespace selari {

v1::ResolvedJob MakeWireJob(const WireShape& shape, IsaLevel level) {
  v1::ResolvedJob resolved;
  resolved.set_job_id(absl::StrFormat("%016x", NewIncarnation()));
  v1::Job& job = *resolved.mutable_job();
  job.set_name("bench-wire");
  int32_t number = 0;
  for (const int64_t floats : WireTensorSizes(shape)) {
    v1::TensorSpec& tensor =
        *job.mutable_model()->mutable_custom()->add_tensors();
    tensor.set_name(absl::StrCat("tensor", number++));
    tensor.add_shape(floats);
    *resolved.add_tensors() = tensor;
  }
  if (shape.optimizer == WireOptimizer::kAdam) {
    job.mutable_optimizer()->mutable_adam();
  } else {
    job.mutable_optimizer()->mutable_sgd();
  }
  job.mutable_optimizer()->set_learning_rate(0.01);
  job.mutable_training()->set_leaf_count(shape.workers);
  job.mutable_consistency()->set_mode(v1::CONSISTENCY_SYNC);
  job.mutable_cluster()->set_servers(1);
  job.mutable_cluster()->set_workers(shape.workers);
  job.mutable_cluster()->set_shard_count(shape.shards);
  job.mutable_cluster()->set_instruction_set(
      static_cast<v1::InstructionSet>(level));
  FillJobDefaults(&job);
  return resolved;
}

std::vector<int64_t> WireTensorSizes(const WireShape& shape) {
  std::vector<int64_t> sizes;
  for (int64_t left = shape.floats; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min(left, kWireTensorFloats));
  }
  return sizes;
}

void FillWireGradient(int32_t worker, int64_t first,
                      absl::Span<float> gradient) {
  // Multiplicative hashing (Knuth): the upper 12 bits change with every
  // element, and a chunk in the wrong place is noticed.
  constexpr uint32_t kGoldenRatio = 2654435769u;
  constexpr uint32_t kWorkerStep = 40503u;
  const uint32_t base =
      static_cast<uint32_t>(first) * kGoldenRatio +
      static_cast<uint32_t>(worker) * kWorkerStep * kGoldenRatio;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const uint32_t hash = base + static_cast<uint32_t>(i) * kGoldenRatio;
    const auto step = static_cast<int32_t>(hash >> 20) - 2048;
    gradient[i] = static_cast<float>(step) * 0x1p-12f;
  }
}

std::vector<std::shared_ptr<const FloatBuffer>> MakeWireGradient(
    const WireShape& shape, int32_t worker, const BufferSource& source) {
  std::vector<std::shared_ptr<const FloatBuffer>> gradient;
  int64_t first = 0;
  for (const int64_t floats : WireTensorSizes(shape)) {
    auto tensor = source(floats);
    FillWireGradient(worker, first,
                     {tensor->data(), static_cast<size_t>(floats)});
    gradient.push_back(std::move(tensor));
    first += floats;
  }
  return gradient;
}

}  // namespace selari
