#include "server/coordinator/file_metadata_store.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/crc32c.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr absl::string_view kMagic = "selari-metadata 1 ";
constexpr absl::string_view kSuffix = ".meta";
constexpr int64_t kHeaderBytesMax = 256;

absl::Status CheckKey(absl::string_view key) {
  bool valid = !key.empty() && key.size() <= 100;
  for (const char c : key) {
    valid = valid && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-');
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata key \"", key, "\": want 1 to 100 characters of [a-z0-9_-]"));
  }
  return absl::OkStatus();
}

std::string Checked(int64_t version, absl::string_view value) {
  return absl::StrCat("version=", version, " bytes=", value.size(), "\n",
                      value);
}

std::string Encode(int64_t version, absl::string_view value) {
  const uint32_t crc = Crc32c(Checked(version, value));
  return absl::StrCat(kMagic, "version=", version, " bytes=", value.size(),
                      " crc32c=", absl::Hex(crc, absl::kZeroPad8), "\n", value);
}

// Takes "name=NUMBER" and the space after it from the front of `text`.
bool ConsumeNumber(absl::string_view name, absl::string_view* text,
                   int64_t* number) {
  if (!absl::ConsumePrefix(text, name)) {
    return false;
  }
  const absl::string_view digits = text->substr(0, text->find(' '));
  if (!absl::SimpleAtoi(digits, number) || *number < 0) {
    return false;
  }
  text->remove_prefix(digits.size());
  return absl::ConsumePrefix(text, " ");
}

// Re-encoding what was understood and comparing covers every byte: magic,
// numbers, checksum and value.
bool Decode(absl::string_view file, MetadataValue* value) {
  absl::string_view text = file;
  int64_t bytes = 0;
  if (!absl::ConsumePrefix(&text, kMagic) ||
      !ConsumeNumber("version=", &text, &value->version) ||
      !ConsumeNumber("bytes=", &text, &bytes)) {
    return false;
  }
  const size_t line_end = text.find('\n');
  if (line_end == absl::string_view::npos) {
    return false;
  }
  value->bytes = std::string(text.substr(line_end + 1));
  return Encode(value->version, value->bytes) == file;
}

// Durable up to the folder above, which the user made.
absl::Status MakeFolder(FileEnv* env, absl::string_view directory) {
  SELARI_RETURN_IF_ERROR(env->CreateDirs(directory));
  return env->SyncDir(DirName(directory));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileMetadataStore>> FileMetadataStore::Open(
    FileEnv* env, absl::string_view directory) {
  SELARI_RETURN_IF_ERROR(MakeFolder(env, directory));
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock,
                          FileLock::Acquire(JoinPath(directory, "LOCK")));
  return std::unique_ptr<FileMetadataStore>(
      new FileMetadataStore(env, std::string(directory), std::move(lock)));
}

absl::StatusOr<std::unique_ptr<FileMetadataStore>>
FileMetadataStore::OpenUnlockedForTest(FileEnv* env,
                                       absl::string_view directory) {
  SELARI_RETURN_IF_ERROR(MakeFolder(env, directory));
  return std::unique_ptr<FileMetadataStore>(
      new FileMetadataStore(env, std::string(directory), nullptr));
}

absl::StatusOr<MetadataValue> FileMetadataStore::ReadOnly(
    FileEnv* env, absl::string_view directory, absl::string_view key) {
  SELARI_RETURN_IF_ERROR(CheckKey(key));
  return FileMetadataStore(env, std::string(directory), nullptr).Get(key);
}

std::string FileMetadataStore::PathOf(absl::string_view key) const {
  return JoinPath(directory_, absl::StrCat(key, kSuffix));
}

absl::StatusOr<MetadataValue> FileMetadataStore::Get(absl::string_view key) {
  SELARI_RETURN_IF_ERROR(CheckKey(key));
  MutexLock lock(&mu_);
  return Read(key);
}

absl::StatusOr<int64_t> FileMetadataStore::Put(absl::string_view key,
                                               absl::string_view bytes) {
  SELARI_RETURN_IF_ERROR(CheckKey(key));
  MutexLock lock(&mu_);
  SELARI_ASSIGN_OR_RETURN(const int64_t version, CurrentVersion(key));
  return Write(key, version + 1, bytes);
}

absl::StatusOr<int64_t> FileMetadataStore::CompareAndSwap(
    absl::string_view key, int64_t expected_version, absl::string_view bytes) {
  SELARI_RETURN_IF_ERROR(CheckKey(key));
  MutexLock lock(&mu_);
  SELARI_ASSIGN_OR_RETURN(const int64_t version, CurrentVersion(key));
  if (version != expected_version) {
    return absl::AbortedError(
        absl::StrCat("metadata key \"", key, "\" has version ", version,
                     ", the writer expected ", expected_version));
  }
  return Write(key, version + 1, bytes);
}

absl::StatusOr<std::vector<std::string>> FileMetadataStore::List() {
  MutexLock lock(&mu_);
  SELARI_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries,
                          env_.List(directory_));
  std::vector<std::string> keys;
  for (const DirEntry& entry : entries) {
    absl::string_view name = entry.name;
    if (absl::ConsumeSuffix(&name, kSuffix) && CheckKey(name).ok()) {
      keys.emplace_back(name);
    }
  }
  return keys;
}

absl::StatusOr<MetadataValue> FileMetadataStore::Read(absl::string_view key) {
  const std::string path = PathOf(key);
  SELARI_ASSIGN_OR_RETURN(
      const std::string file,
      ReadFile(env_, path, kValueBytesMax + kHeaderBytesMax));
  MetadataValue value;
  if (!Decode(file, &value)) {
    return absl::DataLossError(absl::StrCat(
        path, " is damaged (", file.size(),
        " bytes): its checksum does not fit; restore it from a copy, or "
        "remove it to forget what it holds"));
  }
  return value;
}

absl::StatusOr<int64_t> FileMetadataStore::CurrentVersion(
    absl::string_view key) {
  const absl::StatusOr<MetadataValue> value = Read(key);
  if (absl::IsNotFound(value.status())) {
    return 0;
  }
  SELARI_RETURN_IF_ERROR(value.status());
  return value->version;
}

absl::StatusOr<int64_t> FileMetadataStore::Write(absl::string_view key,
                                                 int64_t version,
                                                 absl::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > kValueBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata key \"", key, "\": value of ", bytes.size(),
                     " bytes, at most ", kValueBytesMax, " are kept"));
  }
  SELARI_RETURN_IF_ERROR(
      WriteFileAtomically(env_, PathOf(key), Encode(version, bytes)));
  return version;
}

}  // namespace selari
