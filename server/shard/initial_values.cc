#include "server/shard/initial_values.h"

#include <algorithm>

#include "common/random.h"

namespace selari {

void FillInitialValues(uint64_t seed, int32_t tensor,
                       const v1::Initializer& initializer, int64_t offset,
                       absl::Span<float> values) {
  const RandomKey key = MakeRandomKey(seed, RandomStream::kInitialValue,
                                      static_cast<uint64_t>(tensor));
  const uint64_t first = static_cast<uint64_t>(offset);
  switch (initializer.kind_case()) {
    case v1::Initializer::kUniformLimit: {
      const float limit = initializer.uniform_limit();
      FillUniform(key, first, -limit, limit, values);
      return;
    }
    case v1::Initializer::kNormalStddev:
      FillNormal(key, first, /*mean=*/0, initializer.normal_stddev(), values);
      return;
    case v1::Initializer::kConstant:
      std::fill(values.begin(), values.end(), initializer.constant());
      return;
    case v1::Initializer::KIND_NOT_SET:
      std::fill(values.begin(), values.end(), 0.0f);
      return;
  }
}

}  // namespace selari
