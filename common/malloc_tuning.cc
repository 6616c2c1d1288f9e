#include "common/malloc_tuning.h"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace selari {

void TuneMalloc() {
#ifdef __GLIBC__
  // Setting the threshold also turns off its own adjustment. Half a gigabyte
  // is above the sum of all windows of a busy server.
  constexpr int kTrimThresholdBytes = 512 << 20;
  mallopt(M_TRIM_THRESHOLD, kTrimThresholdBytes);
  // Tensors of any size up to 64 MiB come from the heap, not from a fresh
  // mmap whose pages would be faulted in again each time.
  constexpr int kMmapThresholdBytes = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kMmapThresholdBytes);
#endif
}

}  // namespace selari
