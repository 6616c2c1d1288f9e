#include "worker/data/sampler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "worker/data/permutation.h"

namespace selari {

absl::Status SamplerOptions::Validate() const {
  if (sample_count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("training set has ", sample_count, " samples"));
  }
  if (batch_size < 1 || batch_size > sample_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_size is ", batch_size, ", must be in [1, ",
                     sample_count, "], the samples of the training set"));
  }
  if (leaf_count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("leaf_count is ", leaf_count, ", must be at least 1"));
  }
  return absl::OkStatus();
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      steps_per_epoch_((options.sample_count + options.batch_size - 1) /
                       options.batch_size) {
  SELARI_CHECK(options.Validate().ok());
}

int64_t Sampler::BatchSize(int64_t step) const {
  SELARI_CHECK(step >= 0);
  const int64_t begin = (step % steps_per_epoch_) * options_.batch_size;
  return std::min(options_.batch_size, options_.sample_count - begin);
}

int64_t Sampler::LeafBegin(int64_t step, int64_t leaf) const {
  SELARI_CHECK(leaf >= 0 && leaf <= options_.leaf_count);
  return leaf * BatchSize(step) / options_.leaf_count;
}

int64_t Sampler::LeafSize(int64_t step, int64_t leaf) const {
  return LeafBegin(step, leaf + 1) - LeafBegin(step, leaf);
}

void Sampler::AppendLeafSamples(int64_t step, int64_t leaf,
                                std::vector<int64_t>* samples) const {
  const int64_t batch_begin = (step % steps_per_epoch_) * options_.batch_size;
  const uint64_t epoch = static_cast<uint64_t>(step / steps_per_epoch_);
  const Permutation permutation(options_.seed, epoch, options_.sample_count);
  const int64_t end = batch_begin + LeafBegin(step, leaf + 1);
  for (int64_t position = batch_begin + LeafBegin(step, leaf); position < end;
       ++position) {
    samples->push_back(options_.shuffle ? permutation.At(position) : position);
  }
}

}  // namespace selari
