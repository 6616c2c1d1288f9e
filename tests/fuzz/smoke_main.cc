// main() of every *_fuzz_smoke_test: seeded mutations, no libFuzzer. A crash
// names the decoder by the test that dies; the inputs repeat exactly.

#include <cstdint>
#include <cstdio>

#include "tests/fuzz/fuzz_seeds.h"
#include "tests/fuzz/mutate.h"

int main() {
  constexpr uint64_t kRandomSeed = 20240601;
  constexpr int64_t kMutationCount = 20000;
  std::printf("random seed %llu, %lld mutations\n",
              static_cast<unsigned long long>(kRandomSeed),
              static_cast<long long>(kMutationCount));
  selari::FuzzWithMutations(LLVMFuzzerTestOneInput, selari::FuzzSeeds(),
                            kRandomSeed, kMutationCount);
  return 0;
}
