// What every fuzz target provides beside LLVMFuzzerTestOneInput.

#ifndef SELARI_TESTS_FUZZ_FUZZ_SEEDS_H_
#define SELARI_TESTS_FUZZ_FUZZ_SEEDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Feeds `size` bytes to the decoder. Any error it returns is fine; a crash, a
// sanitizer's report or a broken CHECK is the finding. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace selari {

// Valid and nearly valid inputs to start the mutations from. At least one.
std::vector<std::string> FuzzSeeds();

}  // namespace selari

#endif  // SELARI_TESTS_FUZZ_FUZZ_SEEDS_H_
