#include "common/fault_file_env.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/mutex.h"
#include "common/status.h"

namespace selari {

// A file or folder, as everybody sees it and as a crash would leave it.
struct FaultFileEnv::Node {
  bool is_directory = false;
  std::string bytes;
  std::string synced_bytes;
  Entries entries;
  Entries synced_entries;
};

namespace {

std::vector<std::string> Parts(absl::string_view path) {
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (!part.empty() && part != ".") {
      SELARI_CHECK(part != "..");
      parts.emplace_back(part);
    }
  }
  return parts;
}

// The path in its one normal form, "/a/b".
std::string Normal(absl::string_view path) {
  std::string normal;
  for (const std::string& part : Parts(path)) {
    absl::StrAppend(&normal, "/", part);
  }
  return normal;
}

class MemoryMappedFile final : public MappedFile {
 public:
  explicit MemoryMappedFile(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::string_view bytes() const override { return bytes_; }

 private:
  const std::string bytes_;
};

}  // namespace

class FaultFileEnv::Readable final : public ReadableFile {
 public:
  Readable(FaultFileEnv* env, std::shared_ptr<Node> node, std::string path,
           int64_t size)
      : env_(env),
        node_(std::move(node)),
        path_(std::move(path)),
        size_(size) {}

  absl::Status ReadAt(int64_t offset, absl::Span<char> out) const override {
    SELARI_CHECK(offset >= 0);
    MutexLock lock(&env_->mu_);
    if (const int error = env_->Enter(); error != 0) {
      return FileError("read", path_, error);
    }
    const auto begin = static_cast<std::size_t>(offset);
    if (begin > node_->bytes.size() ||
        out.size() > node_->bytes.size() - begin) {
      return absl::DataLossError(absl::StrCat(
          "\"", path_, "\" is truncated: it ends at byte ", node_->bytes.size(),
          ", a read from ", offset, " wants ", out.size(), " bytes"));
    }
    if (!out.empty()) {
      std::memcpy(out.data(), node_->bytes.data() + begin, out.size());
    }
    return absl::OkStatus();
  }

  int64_t size() const override { return size_; }

 private:
  FaultFileEnv* const env_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const int64_t size_;
};

class FaultFileEnv::Writable final : public WritableFile {
 public:
  Writable(FaultFileEnv* env, std::shared_ptr<Node> node, std::string path,
           int64_t life)
      : env_(env),
        node_(std::move(node)),
        path_(std::move(path)),
        life_(life) {}

  absl::Status Append(absl::string_view bytes) override {
    SELARI_RETURN_IF_ERROR(status_);
    return status_ = env_->AppendTo(node_.get(), life_, path_, bytes);
  }

  absl::Status Sync() override {
    SELARI_RETURN_IF_ERROR(status_);
    return status_ = env_->SyncFile(node_.get(), life_, path_);
  }

  absl::Status Close() override {
    SELARI_RETURN_IF_ERROR(status_);
    MutexLock lock(&env_->mu_);
    const int error = env_->Enter();
    return error == 0 ? absl::OkStatus() : FileError("close", path_, error);
  }

 private:
  FaultFileEnv* const env_;
  const std::shared_ptr<Node> node_;
  const std::string path_;
  const int64_t life_;
  absl::Status status_;  // The first failure.
};

FaultFileEnv::FaultFileEnv() : root_(std::make_shared<Node>()) {
  root_->is_directory = true;
}

FaultFileEnv::~FaultFileEnv() = default;

void FaultFileEnv::FailCall(Failure failure) {
  MutexLock lock(&mu_);
  failure_ = failure;
  calls_until_failure_ = failure.call;
  fault_hit_ = false;
}

bool FaultFileEnv::fault_hit() const {
  MutexLock lock(&mu_);
  return fault_hit_;
}

void FaultFileEnv::SetCapacityBytes(int64_t bytes) {
  MutexLock lock(&mu_);
  capacity_bytes_ = bytes;
}

void FaultFileEnv::DenyWrites(absl::string_view path) {
  MutexLock lock(&mu_);
  denied_ = Normal(path);
}

void FaultFileEnv::ClearFaults() {
  MutexLock lock(&mu_);
  calls_until_failure_ = -1;
  fault_hit_ = false;
  capacity_bytes_ = -1;
  denied_.clear();
}

void FaultFileEnv::Crash(CrashOptions options) {
  ClearFaults();
  MutexLock lock(&mu_);
  ++life_;
  std::mt19937_64 random(options.seed);
  LoseUnsynced(root_.get(), options.seed == 0 ? nullptr : &random);
}

void FaultFileEnv::LoseUnsynced(Node* node, std::mt19937_64* random) {
  if (node->is_directory) {
    if (random == nullptr || (*random)() % 2 == 0) {
      node->entries = node->synced_entries;
    }
    node->synced_entries = node->entries;
    for (auto& [name, child] : node->entries) {
      LoseUnsynced(child.get(), random);
    }
    return;
  }
  std::string survived = node->synced_bytes;
  if (random != nullptr && absl::StartsWith(node->bytes, survived)) {
    const std::size_t synced = survived.size();
    survived = node->bytes.substr(
        0, synced + (*random)() % (node->bytes.size() - synced + 1));
    if ((*random)() % 4 == 0 && survived.size() > synced) {
      // The tail's last block came to the disk, an earlier one did not.
      const std::size_t hole = (*random)() % (survived.size() - synced);
      std::fill_n(survived.begin() + static_cast<std::ptrdiff_t>(synced), hole,
                  '\0');
    }
  }
  node->bytes = survived;
  node->synced_bytes = std::move(survived);
}

int FaultFileEnv::Enter() {
  if (calls_until_failure_ > 0) {
    --calls_until_failure_;
    return 0;
  }
  if (calls_until_failure_ < 0) {
    return 0;
  }
  fault_hit_ = true;
  if (!failure_.permanent) {
    calls_until_failure_ = -1;
  }
  return failure_.error;
}

int FaultFileEnv::EnterWrite(absl::string_view path) {
  if (const int error = Enter(); error != 0) {
    return error;
  }
  if (denied_.empty()) {
    return 0;
  }
  const std::string normal = Normal(path);
  return normal == denied_ || absl::StartsWith(normal, denied_ + "/") ? EACCES
                                                                      : 0;
}

std::shared_ptr<FaultFileEnv::Node> FaultFileEnv::Find(absl::string_view path,
                                                       int* error) const {
  std::shared_ptr<Node> node = root_;
  for (const std::string& part : Parts(path)) {
    if (!node->is_directory) {
      *error = ENOTDIR;
      return nullptr;
    }
    const auto it = node->entries.find(part);
    if (it == node->entries.end()) {
      *error = ENOENT;
      return nullptr;
    }
    node = it->second;
  }
  return node;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> FaultFileEnv::OpenForRead(
    absl::string_view path) {
  MutexLock lock(&mu_);
  int error = Enter();
  const std::shared_ptr<Node> node = error == 0 ? Find(path, &error) : nullptr;
  if (node == nullptr) {
    return FileError("open", path, error);
  }
  if (node->is_directory) {
    return FileError("read", path, EISDIR);
  }
  return std::make_unique<Readable>(this, node, std::string(path),
                                    static_cast<int64_t>(node->bytes.size()));
}

absl::StatusOr<std::unique_ptr<MappedFile>> FaultFileEnv::Map(
    absl::string_view path) {
  MutexLock lock(&mu_);
  int error = Enter();
  const std::shared_ptr<Node> node = error == 0 ? Find(path, &error) : nullptr;
  if (node == nullptr) {
    return FileError("open", path, error);
  }
  if (node->is_directory) {
    return FileError("read", path, EISDIR);
  }
  return std::make_unique<MemoryMappedFile>(node->bytes);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileEnv::OpenWritable(
    absl::string_view path, OldContent old) {
  MutexLock lock(&mu_);
  int error = EnterWrite(path);
  const std::shared_ptr<Node> parent =
      error == 0 ? Find(DirName(path), &error) : nullptr;
  if (parent != nullptr && !parent->is_directory) {
    error = ENOTDIR;
  }
  if (error != 0) {
    return FileError("open for writing", path, error);
  }
  std::shared_ptr<Node>& node = parent->entries[std::string(BaseName(path))];
  if (node == nullptr) {
    node = std::make_shared<Node>();
  } else if (old == OldContent::kRefused || node->is_directory) {
    return FileError("open for writing", path,
                     old == OldContent::kRefused ? EEXIST : EISDIR);
  }
  if (old == OldContent::kEmptied) {
    node->bytes.clear();
  }
  return std::make_unique<Writable>(this, node, std::string(path), life_);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileEnv::OpenForWrite(
    absl::string_view path) {
  return OpenWritable(path, OldContent::kEmptied);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileEnv::OpenNew(
    absl::string_view path) {
  return OpenWritable(path, OldContent::kRefused);
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileEnv::OpenForAppend(
    absl::string_view path) {
  return OpenWritable(path, OldContent::kKept);
}

int64_t FaultFileEnv::UsedBytes(const Node& node) const {
  auto bytes = static_cast<int64_t>(node.bytes.size());
  for (const auto& [name, child] : node.entries) {
    bytes += UsedBytes(*child);
  }
  return bytes;
}

absl::Status FaultFileEnv::AppendTo(Node* node, int64_t life,
                                    absl::string_view path,
                                    absl::string_view bytes) {
  MutexLock lock(&mu_);
  if (life != life_) {
    return FileError("write", path, EIO);
  }
  if (const int error = EnterWrite(path); error != 0) {
    node->bytes.append(bytes.data(), bytes.size() / 2);
    return FileError("write", path, error);
  }
  if (capacity_bytes_ >= 0) {
    const int64_t room =
        std::max(int64_t{0}, capacity_bytes_ - UsedBytes(*root_));
    if (static_cast<int64_t>(bytes.size()) > room) {
      node->bytes.append(bytes.data(), static_cast<std::size_t>(room));
      return FileError("write", path, ENOSPC);
    }
  }
  node->bytes.append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status FaultFileEnv::SyncFile(Node* node, int64_t life,
                                    absl::string_view path) {
  MutexLock lock(&mu_);
  const int error = life == life_ ? Enter() : EIO;
  if (error != 0) {
    return FileError("sync", path, error);
  }
  node->synced_bytes = node->bytes;
  return absl::OkStatus();
}

absl::Status FaultFileEnv::Truncate(absl::string_view path, int64_t size) {
  MutexLock lock(&mu_);
  int error = EnterWrite(path);
  const std::shared_ptr<Node> node = error == 0 ? Find(path, &error) : nullptr;
  if (node != nullptr && node->is_directory) {
    error = EISDIR;
  }
  if (error != 0) {
    return FileError("truncate", path, error);
  }
  node->bytes.resize(static_cast<std::size_t>(size));
  return absl::OkStatus();
}

absl::StatusOr<bool> FaultFileEnv::Exists(absl::string_view path) {
  MutexLock lock(&mu_);
  int error = Enter();
  if (error != 0) {
    return FileError("look at", path, error);
  }
  return Find(path, &error) != nullptr;
}

absl::StatusOr<std::vector<DirEntry>> FaultFileEnv::List(
    absl::string_view dir) {
  MutexLock lock(&mu_);
  int error = Enter();
  const std::shared_ptr<Node> node = error == 0 ? Find(dir, &error) : nullptr;
  if (node != nullptr && !node->is_directory) {
    error = ENOTDIR;
  }
  if (error != 0) {
    return FileError("list folder", dir, error);
  }
  std::vector<DirEntry> entries;
  for (const auto& [name, child] : node->entries) {
    entries.push_back({name, child->is_directory});
  }
  return entries;
}

absl::Status FaultFileEnv::CreateDirs(absl::string_view dir) {
  MutexLock lock(&mu_);
  if (const int error = Enter(); error != 0) {
    return FileError("create folder", dir, error);
  }
  Node* node = root_.get();
  std::string path;
  for (const std::string& part : Parts(dir)) {
    absl::StrAppend(&path, "/", part);
    std::shared_ptr<Node>& child = node->entries[part];
    if (child == nullptr) {
      if (!denied_.empty() &&
          (path == denied_ || absl::StartsWith(path, denied_ + "/"))) {
        node->entries.erase(part);
        return FileError("create folder", dir, EACCES);
      }
      child = std::make_shared<Node>();
      child->is_directory = true;
    }
    if (!child->is_directory) {
      return FileError("create folder", dir, ENOTDIR);
    }
    node = child.get();
  }
  return absl::OkStatus();
}

absl::Status FaultFileEnv::Remove(absl::string_view path, bool is_directory) {
  const absl::string_view action = is_directory ? "remove folder" : "remove";
  MutexLock lock(&mu_);
  int error = EnterWrite(path);
  const std::shared_ptr<Node> node = error == 0 ? Find(path, &error) : nullptr;
  if (error == 0 && node->is_directory != is_directory) {
    error = is_directory ? ENOTDIR : EISDIR;
  }
  if (error == 0 && !node->entries.empty()) {
    error = ENOTEMPTY;
  }
  if (error != 0) {
    return FileError(action, path, error);
  }
  Find(DirName(path), &error)->entries.erase(std::string(BaseName(path)));
  return absl::OkStatus();
}

absl::Status FaultFileEnv::RemoveFile(absl::string_view path) {
  return Remove(path, /*is_directory=*/false);
}

absl::Status FaultFileEnv::RemoveDir(absl::string_view dir) {
  return Remove(dir, /*is_directory=*/true);
}

absl::Status FaultFileEnv::Rename(absl::string_view from,
                                  absl::string_view to) {
  MutexLock lock(&mu_);
  int error = EnterWrite(to);
  const std::shared_ptr<Node> node = error == 0 ? Find(from, &error) : nullptr;
  const std::shared_ptr<Node> parent =
      error == 0 ? Find(DirName(to), &error) : nullptr;
  if (error == 0) {
    int absent = 0;
    const std::shared_ptr<Node> target = Find(to, &absent);
    if (target != nullptr && target->is_directory != node->is_directory) {
      error = target->is_directory ? EISDIR : ENOTDIR;
    } else if (target != nullptr && !target->entries.empty()) {
      error = ENOTEMPTY;
    }
  }
  if (error != 0) {
    return FileError(absl::StrCat("rename \"", from, "\" to"), to, error);
  }
  Find(DirName(from), &error)->entries.erase(std::string(BaseName(from)));
  parent->entries[std::string(BaseName(to))] = node;
  return absl::OkStatus();
}

absl::Status FaultFileEnv::SyncDir(absl::string_view dir) {
  MutexLock lock(&mu_);
  int error = Enter();
  const std::shared_ptr<Node> node = error == 0 ? Find(dir, &error) : nullptr;
  if (node != nullptr && !node->is_directory) {
    error = ENOTDIR;
  }
  if (error != 0) {
    return FileError("sync folder", dir, error);
  }
  node->synced_entries = node->entries;
  return absl::OkStatus();
}

}  // namespace selari
