// MinTracker: the least and greatest of a fixed number of counters that only
// rise, in constant time on average.
//
// Not thread-safe.

#ifndef SELARI_SERVER_SHARD_MIN_TRACKER_H_
#define SELARI_SERVER_SHARD_MIN_TRACKER_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace selari {

class MinTracker {
 public:
  // `values` may be empty: then min and max are 0.
  explicit MinTracker(std::vector<int64_t> values)
      : values_(std::move(values)) {
    CountMin();
    for (const int64_t value : values_) {
      max_ = std::max(max_, value);
    }
  }

  int64_t min() const { return min_; }
  int64_t max() const { return max_; }
  int64_t value(size_t index) const { return values_[index]; }
  const std::vector<int64_t>& values() const { return values_; }

  // Does nothing when the counter is there already.
  void RaiseTo(size_t index, int64_t value) {
    int64_t& counter = values_[index];
    if (value <= counter) {
      return;
    }
    const bool was_min = counter == min_;
    counter = value;
    max_ = std::max(max_, value);
    if (was_min && --at_min_ == 0) {
      CountMin();
    }
  }

 private:
  void CountMin() {
    if (values_.empty()) {
      return;
    }
    min_ = *std::min_element(values_.begin(), values_.end());
    at_min_ = std::count(values_.begin(), values_.end(), min_);
  }

  std::vector<int64_t> values_;
  int64_t min_ = 0;
  int64_t max_ = 0;
  int64_t at_min_ = 0;  // counters whose value is min_
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_MIN_TRACKER_H_
