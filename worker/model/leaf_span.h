// How a step names sums over leaves and lends tensors: the two small types
// that models and layers share.

#ifndef SELARI_WORKER_MODEL_LEAF_SPAN_H_
#define SELARI_WORKER_MODEL_LEAF_SPAN_H_

#include <cstdint>

#include "absl/types/span.h"

namespace selari {

// A tree node by its leaves: the step's leaves [begin, end), counted among
// those the worker holds, end > begin. Its gradient is the sum along the tree
// over them.
struct LeafSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

// The elements of some tensors, row-major, one span each.
using TensorSpans = absl::Span<const absl::Span<const float>>;

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_LEAF_SPAN_H_
