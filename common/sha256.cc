#include "common/sha256.h"

#include <openssl/evp.h>

#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace selari {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  SELARI_CHECK(context_ != nullptr);
  SELARI_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(absl::string_view bytes) {
  SELARI_CHECK(context_ != nullptr);
  SELARI_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) ==
               1);
}

void Sha256::UpdateInt64(int64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  Update(absl::string_view(bytes, sizeof(bytes)));
}

std::string Sha256::Finish() {
  SELARI_CHECK(context_ != nullptr);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  SELARI_CHECK(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1);
  context_.reset();
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string Sha256::FinishHex() { return absl::BytesToHexString(Finish()); }

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.FinishHex();
}

}  // namespace selari
