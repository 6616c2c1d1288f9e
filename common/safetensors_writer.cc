#include "common/safetensors_writer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/safetensors_header.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/tensor_file.h"

namespace selari {
namespace {

class Writer final : public TensorFileWriter {
 public:
  // `size_bytes`: the whole file with its header.
  Writer(std::unique_ptr<WritableFile> file, int64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {}

  absl::Status Append(absl::string_view bytes) override {
    written_bytes_ += static_cast<int64_t>(bytes.size());
    SELARI_CHECK(written_bytes_ <= size_bytes_);
    SELARI_RETURN_IF_ERROR(file_->Append(bytes));
    hash_.Update(bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<WrittenFile> Finish() override {
    SELARI_CHECK(written_bytes_ == size_bytes_);
    SELARI_RETURN_IF_ERROR(file_->Sync());
    SELARI_RETURN_IF_ERROR(file_->Close());
    return WrittenFile{size_bytes_, hash_.FinishHex()};
  }

 private:
  const std::unique_ptr<WritableFile> file_;
  const int64_t size_bytes_;
  int64_t written_bytes_ = 0;
  Sha256 hash_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFileWriter>> CreateSafetensorsFile(
    FileEnv& env, absl::string_view path,
    const std::vector<TensorDeclaration>& tensors,
    const std::map<std::string, std::string>& metadata) {
  SELARI_ASSIGN_OR_RETURN(const std::string header,
                          BuildSafetensorsHeader(tensors, metadata));
  auto size_bytes = static_cast<int64_t>(header.size());
  for (const TensorDeclaration& tensor : tensors) {
    SELARI_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(tensor));
    size_bytes += bytes;
  }
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                          env.OpenForWrite(path));
  auto writer = std::make_unique<Writer>(std::move(file), size_bytes);
  SELARI_RETURN_IF_ERROR(writer->Append(header));
  return writer;
}

}  // namespace selari
