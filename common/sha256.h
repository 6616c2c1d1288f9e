// SHA-256 of a stream of bytes: file checksums, job and checkpoint digests.
//
//   Sha256 hash;
//   hash.Update(header);
//   hash.Update(body);
//   std::string hex = hash.FinishHex();
//
// Not thread-safe.

#ifndef SELARI_COMMON_SHA256_H_
#define SELARI_COMMON_SHA256_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace selari {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);

  // Adds the 8 bytes of `value`, little-endian: a length or number in a
  // digest, so that two neighbouring fields cannot run into each other.
  void UpdateInt64(int64_t value);

  // The 32 raw bytes, or 64 lower-case hexadecimal digits, of all so far.
  // REQUIRES: called once, nothing afterwards.
  std::string Finish();
  std::string FinishHex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// The hexadecimal SHA-256 of `bytes`.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace selari

#endif  // SELARI_COMMON_SHA256_H_
