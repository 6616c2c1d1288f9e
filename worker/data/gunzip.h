// Unpacking of gzip, so that every reader takes packed files as they are
// published.

#ifndef SELARI_WORKER_DATA_GUNZIP_H_
#define SELARI_WORKER_DATA_GUNZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

// The bytes themselves, or what they unpack to when they start as a gzip file
// (one or more members). Pure.
// INVALID_ARGUMENT naming `source`: truncated, checksum wrong, bytes after the
// end, or more than `unpacked_bytes_max` (a guard against a file made to fill
// the memory).
absl::StatusOr<std::string> MaybeGunzip(absl::string_view source,
                                        std::string bytes,
                                        int64_t unpacked_bytes_max);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_GUNZIP_H_
