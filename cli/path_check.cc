#include "cli/path_check.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file_env.h"
#include "common/status.h"

namespace selari {
namespace {

using std::filesystem::file_type;

// What stands there; file_type::not_found also when something above it is no
// folder.
absl::StatusOr<file_type> TypeOf(absl::string_view name,
                                 const std::filesystem::path& path,
                                 absl::string_view advice) {
  std::error_code error;
  const file_type type = std::filesystem::status(path, error).type();
  if (type == file_type::none) {
    return absl::Status(
        FileError("look at", path.string(), error.value()).code(),
        absl::StrCat(name, ": ", error.message(), "; ", advice));
  }
  return type;
}

absl::string_view NameOf(file_type type) {
  return type == file_type::regular ? "a file"
         : type == file_type::fifo  ? "a pipe"
                                    : "no folder";
}

}  // namespace

absl::Status CheckFolder(absl::string_view name, const std::string& path,
                         absl::string_view advice) {
  SELARI_ASSIGN_OR_RETURN(const file_type type, TypeOf(name, path, advice));
  if (type == file_type::directory) {
    return absl::OkStatus();
  }
  if (type == file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(name, " does not exist; ", advice));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", NameOf(type), "; ", advice));
}

absl::Status CheckNewFolder(absl::string_view name, const std::string& path,
                            absl::string_view advice) {
  // As it was typed, so that messages name no part that was not.
  for (std::filesystem::path at = path; !at.empty(); at = at.parent_path()) {
    SELARI_ASSIGN_OR_RETURN(const file_type type, TypeOf(name, at, advice));
    if (type == file_type::directory) {
      break;
    }
    if (type != file_type::not_found) {
      const bool itself = at == path;
      return absl::InvalidArgumentError(absl::StrCat(
          name,
          itself ? "" : absl::StrCat(" lies below ", at.string(), ", which"),
          " is ", NameOf(type), "; ", advice));
    }
    if (at == at.parent_path()) {
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace selari
