// Seeded mutations of inputs: the part of a fuzzer that needs no compiler
// support, so that every decoder is fuzzed a little in the normal suite.

#ifndef SELARI_TESTS_FUZZ_MUTATE_H_
#define SELARI_TESTS_FUZZ_MUTATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace selari {

using FuzzTarget = int (*)(const uint8_t* data, size_t size);

// Calls `target` with each seed, each seed cut at every length up to 256, and
// `mutation_count` inputs that are a seed after 1 to 4 random changes: bits
// flipped, bytes set to 0, 255 or random, parts removed, repeated or cut off.
// The inputs are a pure function of the arguments.
void FuzzWithMutations(FuzzTarget target, const std::vector<std::string>& seeds,
                       uint64_t random_seed, int64_t mutation_count);

}  // namespace selari

#endif  // SELARI_TESTS_FUZZ_MUTATE_H_
