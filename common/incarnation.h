// The number by which one life of a process is told from another.

#ifndef SELARI_COMMON_INCARNATION_H_
#define SELARI_COMMON_INCARNATION_H_

#include <cstdint>
#include <random>

namespace selari {

// Random, never 0.
inline uint64_t NewIncarnation() {
  std::random_device device;
  uint64_t number = 0;
  while (number == 0) {
    number = (uint64_t{device()} << 32) | device();
  }
  return number;
}

}  // namespace selari

#endif  // SELARI_COMMON_INCARNATION_H_
