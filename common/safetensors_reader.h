// Opens a safetensors file and checks its header; the data are read where
// they are needed, so the file may be larger than memory.
//
// Thread safety: all methods are const and may be called from any thread.

#ifndef SELARI_COMMON_SAFETENSORS_READER_H_
#define SELARI_COMMON_SAFETENSORS_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/safetensors_header.h"

namespace selari {

class SafetensorsReader {
 public:
  // Reads and checks the header. Errors as FileEnv; DATA_LOSS with the path
  // and what is wrong when it is no complete safetensors file.
  static absl::StatusOr<std::unique_ptr<SafetensorsReader>> Open(
      FileEnv& env, absl::string_view path);

  const SafetensorsHeader& header() const { return header_; }

  // The prefix and JSON as they stand in the file, for a checksum of it all.
  const std::string& header_bytes() const { return header_bytes_; }

  // Bytes of the whole file.
  int64_t size_bytes() const { return file_->size(); }

  int64_t data_bytes() const {
    return file_->size() - static_cast<int64_t>(header_bytes_.size());
  }

  // Fills `out` with the data from byte `begin` on, counted as in the header.
  [[nodiscard]] absl::Status ReadData(int64_t begin,
                                      absl::Span<char> out) const {
    return file_->ReadAt(static_cast<int64_t>(header_bytes_.size()) + begin,
                         out);
  }

 private:
  SafetensorsReader(std::unique_ptr<ReadableFile> file,
                    std::string header_bytes, SafetensorsHeader header)
      : file_(std::move(file)),
        header_bytes_(std::move(header_bytes)),
        header_(std::move(header)) {}

  const std::unique_ptr<ReadableFile> file_;
  const std::string header_bytes_;
  const SafetensorsHeader header_;
};

}  // namespace selari

#endif  // SELARI_COMMON_SAFETENSORS_READER_H_
