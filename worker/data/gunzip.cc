#include "worker/data/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace selari {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
// Window of 32 KiB, plus 16 for "expect a gzip header" (zlib.h).
constexpr int kGzipWindowBits = 15 + 16;
constexpr absl::string_view kGzipMagic("\x1f\x8b", 2);

// One z_stream, ended when it goes out of scope.
class Inflater {
 public:
  explicit Inflater(absl::string_view input) : input_(input) {
    // Only lack of memory or our own misuse can fail here.
    SELARI_CHECK(inflateInit2(&stream_, kGzipWindowBits) == Z_OK);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Unpacks up to block->size() bytes; returns zlib's code and sets their
  // count. Z_BUF_ERROR when the input has ended too early.
  int Next(std::vector<char>* block, std::size_t* produced) {
    if (stream_.avail_in == 0) {
      const std::size_t taken = std::min<std::size_t>(
          input_.size(), std::numeric_limits<uInt>::max());
      // zlib's interface is not const-correct; it never writes its input.
      stream_.next_in =
          reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
      stream_.avail_in = static_cast<uInt>(taken);
      input_.remove_prefix(taken);
    }
    stream_.next_out = reinterpret_cast<Bytef*>(block->data());
    stream_.avail_out = static_cast<uInt>(block->size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    *produced = block->size() - stream_.avail_out;
    return code;
  }

  bool InputIsEmpty() const { return stream_.avail_in == 0 && input_.empty(); }

  // Starts the next member of a file of several.
  void NextMember() { SELARI_CHECK(inflateReset(&stream_) == Z_OK); }

  const char* message() const {
    return stream_.msg == nullptr ? "damaged" : stream_.msg;
  }

 private:
  z_stream stream_ = {};
  absl::string_view input_;
};

}  // namespace

absl::StatusOr<std::string> MaybeGunzip(absl::string_view source,
                                        std::string bytes,
                                        int64_t unpacked_bytes_max) {
  if (!absl::StartsWith(bytes, kGzipMagic)) {
    return bytes;
  }
  Inflater inflater(bytes);
  std::vector<char> block(kBlockBytes);
  std::string unpacked;
  while (true) {
    std::size_t produced = 0;
    const int code = inflater.Next(&block, &produced);
    unpacked.append(block.data(), produced);
    if (static_cast<int64_t>(unpacked.size()) > unpacked_bytes_max) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": unpacks to more than ", unpacked_bytes_max,
                       " bytes, the limit for one file"));
    }
    if (code == Z_STREAM_END) {
      if (inflater.InputIsEmpty()) {
        return unpacked;
      }
      inflater.NextMember();
    } else if (code == Z_BUF_ERROR) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": gzip data ends early after ", bytes.size(),
                       " bytes (", unpacked.size(),
                       " unpacked); the file is truncated, fetch it again"));
    } else if (code != Z_OK) {
      return absl::InvalidArgumentError(absl::StrCat(
          source, ": gzip data is damaged (", inflater.message(), ") after ",
          unpacked.size(), " unpacked bytes; fetch it again"));
    }
  }
}

}  // namespace selari
