// EncodedArray: what an IDX or NumPy file holds once its header is understood
// and its length checked, before the elements are turned into floats or
// labels. The readers make it; the two conversions below are the only users
// of the raw bytes.
//
// A plain value. Functions are pure and may be called from any thread.

#ifndef SELARI_WORKER_DATA_ENCODED_ARRAY_H_
#define SELARI_WORKER_DATA_ENCODED_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/float_buffer.h"

namespace selari {

enum class EncodedType {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat32,
  kFloat64,
};

// Bytes of one element.
int64_t EncodedTypeBytes(EncodedType type);

// As people write it, for messages: "uint8", "float32".
absl::string_view EncodedTypeName(EncodedType type);

struct EncodedArray {
  // Where it comes from, for messages: the file's path.
  std::string source;
  // Each dimension >= 0; row-major, the first one counts samples. Empty for
  // a scalar.
  std::vector<int64_t> shape;
  EncodedType type = EncodedType::kUint8;
  bool big_endian = false;
  // The whole file; the elements start at `elements_begin` and fill the rest.
  std::string bytes;
  std::size_t elements_begin = 0;
};

// "60000x28x28"; "scalar" when the shape is empty.
std::string ShapeName(absl::Span<const int64_t> shape);

// The product of the dimensions. INVALID_ARGUMENT naming `source` when a
// dimension is negative or the product passes 2^48.
absl::StatusOr<int64_t> ElementCount(absl::string_view source,
                                     absl::Span<const int64_t> shape);

// Checks that exactly the elements of `shape` follow `elements_begin`.
// INVALID_ARGUMENT with both byte counts otherwise; `format` is the format's
// name for the message.
absl::Status CheckLength(const EncodedArray& array, absl::string_view format);

// All elements as floats, row-major. Integers past 2^24 and doubles are
// rounded to the nearest float.
// REQUIRES: CheckLength holds.
// INVALID_ARGUMENT with row and column for NaN, infinity or a value that does
// not fit in a float; without a sample dimension (scalar) too.
absl::StatusOr<std::shared_ptr<FloatBuffer>> ToFloats(
    const EncodedArray& array);

// All elements as class numbers, shape (n) or (n, 1).
// REQUIRES: CheckLength holds.
// INVALID_ARGUMENT with the row for a value that is no integer in
// [0, 2^31 - 1), and for another shape.
absl::StatusOr<std::vector<int32_t>> ToLabels(const EncodedArray& array);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_ENCODED_ARRAY_H_
