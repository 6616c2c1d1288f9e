// Writes NumPy's .npz: a zip of uncompressed .npy files, one for each tensor.
//
// One stream, so a member's checksum stands behind its bytes (a zip "data
// descriptor") and all sizes use zip64: as numpy.savez writes to a pipe.
// docs/FORMAT.md shows the bytes.

#ifndef SELARI_COMMON_NPZ_WRITER_H_
#define SELARI_COMMON_NPZ_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/tensor_file.h"

namespace selari {

// The header of a .npy file, version 1.0, before the row-major bytes of the
// tensor; a multiple of 64 bytes. INVALID_ARGUMENT for a type that NumPy lacks
// (BF16, F8) or more than 65,535 bytes of shape.
absl::StatusOr<std::string> BuildNpyHeader(const TensorDeclaration& tensor);

// Starts the file `path`. Errors as TensorBytes, BuildNpyHeader and FileEnv;
// INVALID_ARGUMENT for a name used twice, empty or past 65,000 bytes. `env`
// must outlive the writer.
[[nodiscard]] absl::StatusOr<std::unique_ptr<TensorFileWriter>> CreateNpzFile(
    FileEnv& env, absl::string_view path,
    const std::vector<TensorDeclaration>& tensors);

}  // namespace selari

#endif  // SELARI_COMMON_NPZ_WRITER_H_
