// Sampler: which samples a leaf of a step uses, as a pure function of
// (seed, step, leaf). Every worker computes it by itself, in any order, for
// any step, and all agree: nobody hands out data, and a worker that takes over
// a leaf, or joins in mid-epoch, needs no state.
//
// An epoch visits each sample once, in the order of a permutation drawn from
// (seed, epoch). Batch k of the epoch is positions [k B, min((k + 1) B, N));
// the last batch of an epoch may be short. Leaf j of V takes positions
// [j n / V, (j + 1) n / V) of its batch of n, so leaves differ by at most one
// sample, and are empty where n < V.
//
// Immutable; const methods from any thread. No memory per sample: the
// permutation is a Feistel network, evaluated one position at a time.

#ifndef SELARI_WORKER_DATA_SAMPLER_H_
#define SELARI_WORKER_DATA_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace selari {

struct SamplerOptions {
  // Of the whole job; the same on every worker.
  uint64_t seed = 0;
  // Samples of the training set, N >= 1.
  int64_t sample_count = 0;
  // Samples of one global batch, in [1, N].
  int64_t batch_size = 0;
  // Leaves a batch is cut into, V >= 1.
  int64_t leaf_count = 8;
  // False keeps the file's order, in every epoch.
  bool shuffle = true;

  // INVALID_ARGUMENT naming the field and its range.
  absl::Status Validate() const;
};

class Sampler {
 public:
  // REQUIRES: options.Validate() is OK.
  explicit Sampler(const SamplerOptions& options);

  int64_t steps_per_epoch() const { return steps_per_epoch_; }

  // Samples of the global batch of `step` >= 0, counted over all epochs.
  int64_t BatchSize(int64_t step) const;

  // Samples of one leaf of that batch, possibly 0. 0 <= leaf < leaf_count.
  int64_t LeafSize(int64_t step, int64_t leaf) const;

  // Place of the leaf's first sample within that batch.
  int64_t LeafBegin(int64_t step, int64_t leaf) const;

  // Appends the leaf's sample numbers, each in [0, N).
  void AppendLeafSamples(int64_t step, int64_t leaf,
                         std::vector<int64_t>* samples) const;

 private:
  const SamplerOptions options_;
  const int64_t steps_per_epoch_;
};

}  // namespace selari

#endif  // SELARI_WORKER_DATA_SAMPLER_H_
