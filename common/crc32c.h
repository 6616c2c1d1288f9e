// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): the checksum of log
// records and of TFRecord framing. Functions, thread-safe.

#ifndef SELARI_COMMON_CRC32C_H_
#define SELARI_COMMON_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace selari {

// The checksum of A followed by `bytes`, where `crc` is the checksum of A.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

// The same without the processor's instruction, so that a test on any machine
// covers both.
uint32_t ExtendCrc32cPortableForTest(uint32_t crc, absl::string_view bytes);

// TFRecord stores checksums rotated and offset, because a checksum over data
// that itself contains checksums detects little.
inline uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
inline uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace selari

#endif  // SELARI_COMMON_CRC32C_H_
