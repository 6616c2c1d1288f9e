// CHECK for our own bugs: prints the condition and aborts, in release too.
// A peer, a disk, a configuration or a device that fails is not a bug: return
// a Status for it.

#ifndef SELARI_COMMON_CHECK_H_
#define SELARI_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define SELARI_CHECK(condition)                                       \
  do {                                                                \
    if (!(condition)) {                                               \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, \
                   __LINE__, #condition);                             \
      std::abort();                                                   \
    }                                                                 \
  } while (false)

#endif  // SELARI_COMMON_CHECK_H_
