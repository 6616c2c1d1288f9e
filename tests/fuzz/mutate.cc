#include "tests/fuzz/mutate.h"

#include <algorithm>

#include "common/random.h"

namespace selari {
namespace {

constexpr std::size_t kCutBytesMax = 256;

// Draws from one sequence of counter-based numbers.
class Draw {
 public:
  explicit Draw(RandomKey key) : key_(key) {}
  // In [0, bound), bound > 0.
  std::size_t Below(std::size_t bound) {
    return BoundedFromWord64(RandomWord64(key_, index_++), bound);
  }

 private:
  const RandomKey key_;
  uint64_t index_ = 0;
};

void MutateOnce(Draw* draw, std::string* input) {
  if (input->empty()) {
    input->push_back(static_cast<char>(draw->Below(256)));
    return;
  }
  const std::size_t at = draw->Below(input->size());
  const std::size_t count =
      1 + draw->Below(std::min<std::size_t>(input->size() - at, 16));
  char* const byte = &(*input)[at];
  switch (draw->Below(8)) {
    case 0:
      *byte = static_cast<char>(*byte ^ (1 << draw->Below(8)));
      break;
    case 1:
      *byte = static_cast<char>(draw->Below(256));
      break;
    case 2:
      std::fill_n(byte, count, '\0');
      break;
    case 3:
      std::fill_n(byte, count, '\xff');
      break;
    case 4:
      input->erase(at, count);
      break;
    case 5:
      input->insert(at, input->substr(at, count));
      break;
    case 6:
      input->insert(at, 1, static_cast<char>(draw->Below(256)));
      break;
    default:
      input->resize(at);
  }
}

void Call(FuzzTarget target, const std::string& input) {
  // A copy of exactly the right size, so that a sanitizer sees the first byte
  // read past the end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  target(bytes.data(), bytes.size());
}

}  // namespace

void FuzzWithMutations(FuzzTarget target, const std::vector<std::string>& seeds,
                       uint64_t random_seed, int64_t mutation_count) {
  for (const std::string& seed : seeds) {
    Call(target, seed);
    for (std::size_t n = 0; n < std::min(seed.size(), kCutBytesMax); ++n) {
      Call(target, seed.substr(0, n));
    }
  }
  for (int64_t i = 0; i < mutation_count; ++i) {
    Draw draw(MakeRandomKey(random_seed, RandomStream::kTest,
                            static_cast<uint64_t>(i)));
    std::string input = seeds[draw.Below(seeds.size())];
    for (std::size_t changes = 1 + draw.Below(4); changes > 0; --changes) {
      MutateOnce(&draw, &input);
    }
    Call(target, input);
  }
}

}  // namespace selari
