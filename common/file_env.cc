#include "common/file_env.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/status.h"

namespace selari {
namespace {

struct Advice {
  absl::StatusCode code;
  absl::string_view way_out;
};

Advice AdviceFor(int error) {
  switch (error) {
    case ENOENT:
      return {absl::StatusCode::kNotFound, "check the path"};
    case EEXIST:
    case ENOTEMPTY:
      return {absl::StatusCode::kAlreadyExists,
              "remove it or choose another path"};
    case EACCES:
    case EPERM:
      return {absl::StatusCode::kPermissionDenied,
              "give this user access or choose another path"};
    case EROFS:
      return {absl::StatusCode::kPermissionDenied,
              "choose a path on a writable file system"};
    case ENOSPC:
    case EDQUOT:
      return {absl::StatusCode::kResourceExhausted,
              "free some space or choose another disk"};
    case EFBIG:
      return {absl::StatusCode::kResourceExhausted,
              "raise the file size limit (ulimit -f) or choose another disk"};
    case EMFILE:
    case ENFILE:
      return {absl::StatusCode::kResourceExhausted,
              "raise the limit of open files (ulimit -n)"};
    case EIO:
      return {absl::StatusCode::kDataLoss, "check the disk"};
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
      return {absl::StatusCode::kInvalidArgument, "check the path"};
    case ENXIO:  // A socket, or a pipe that nobody reads.
      return {absl::StatusCode::kInvalidArgument, "name a regular file"};
    case ENAMETOOLONG:
      return {absl::StatusCode::kInvalidArgument, "choose a shorter name"};
    default:
      return {absl::StatusCode::kUnknown, "check the path and the disk"};
  }
}

}  // namespace

absl::Status FileError(absl::string_view action, absl::string_view path,
                       int error) {
  const Advice advice = AdviceFor(error);
  return absl::Status(
      advice.code, absl::StrCat("cannot ", action, " \"", path,
                                "\": ", std::generic_category().message(error),
                                "; ", advice.way_out));
}

absl::StatusOr<std::string> ReadFile(FileEnv& env, absl::string_view path,
                                     int64_t bytes_max) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                          env.OpenForRead(path));
  if (file->size() > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("\"", path, "\" has ", file->size(), " bytes, at most ",
                     bytes_max, " are read; check the path"));
  }
  std::string bytes(static_cast<std::size_t>(file->size()), '\0');
  SELARI_RETURN_IF_ERROR(file->ReadAt(0, absl::MakeSpan(bytes)));
  return bytes;
}

absl::Status WriteFileAtomically(FileEnv& env, absl::string_view path,
                                 absl::string_view bytes) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          env.OpenForWrite(temporary));
  SELARI_RETURN_IF_ERROR(file->Append(bytes));
  SELARI_RETURN_IF_ERROR(file->Sync());
  SELARI_RETURN_IF_ERROR(file->Close());
  return RenameDurably(env, temporary, path);
}

absl::Status CreateDirsDurably(FileEnv& env, absl::string_view dir) {
  std::vector<absl::string_view>
      parents;  // Of the missing folders, from below.
  for (absl::string_view path = dir; path != DirName(path);
       path = DirName(path)) {
    SELARI_ASSIGN_OR_RETURN(const bool exists, env.Exists(path));
    if (exists) {
      break;
    }
    parents.push_back(DirName(path));
  }
  SELARI_RETURN_IF_ERROR(env.CreateDirs(dir));
  for (absl::string_view parent : parents) {
    SELARI_RETURN_IF_ERROR(env.SyncDir(parent));
  }
  return absl::OkStatus();
}

absl::Status RenameDurably(FileEnv& env, absl::string_view from,
                           absl::string_view to) {
  SELARI_RETURN_IF_ERROR(env.Rename(from, to));
  SELARI_RETURN_IF_ERROR(env.SyncDir(DirName(to)));
  return DirName(from) == DirName(to) ? absl::OkStatus()
                                      : env.SyncDir(DirName(from));
}

absl::Status RemoveTree(FileEnv& env, absl::string_view dir) {
  absl::StatusOr<std::vector<DirEntry>> entries = env.List(dir);
  if (absl::IsNotFound(entries.status())) {
    return absl::OkStatus();
  }
  SELARI_RETURN_IF_ERROR(entries.status());
  for (const DirEntry& entry : *entries) {
    const std::string path = JoinPath(dir, entry.name);
    SELARI_RETURN_IF_ERROR(entry.is_directory ? RemoveTree(env, path)
                                              : env.RemoveFile(path));
  }
  return env.RemoveDir(dir);
}

std::string JoinPath(absl::string_view dir, absl::string_view name) {
  if (dir.empty() || absl::StartsWith(name, "/")) {
    return std::string(name);
  }
  if (name.empty()) {
    return std::string(dir);
  }
  return absl::StrCat(dir, absl::EndsWith(dir, "/") ? "" : "/", name);
}

absl::string_view DirName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) {
    return ".";
  }
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

absl::string_view BaseName(absl::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace selari
