// What the codecs share about their bytes: whole 32-bit words at any address.

#ifndef SELARI_KERNELS_COMPRESSION_PAYLOAD_H_
#define SELARI_KERNELS_COMPRESSION_PAYLOAD_H_

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace selari {

inline int64_t WordsOfBytes(int64_t bytes) { return (bytes + 3) / 4; }

// Word `index`. REQUIRES: it lies within `bytes`.
inline uint32_t PayloadWord(absl::Span<const char> bytes, int64_t index) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + index * 4, sizeof(word));
  return word;
}

// INVALID_ARGUMENT unless there are exactly so many words.
inline absl::Status CheckPayloadWords(const char* codec,
                                      absl::Span<const char> bytes,
                                      int64_t words, size_t elements) {
  if (static_cast<int64_t>(bytes.size()) == words * 4) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(codec, ": ", bytes.size(), " bytes, must be ", words * 4,
                   " for ", elements, " elements"));
}

// INVALID_ARGUMENT when there are fewer words.
inline absl::Status CheckPayloadHeader(const char* codec,
                                       absl::Span<const char> bytes,
                                       int64_t words) {
  if (static_cast<int64_t>(bytes.size()) >= words * 4) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      codec, ": ", bytes.size(), " bytes, the header alone has ", words * 4));
}

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_PAYLOAD_H_
