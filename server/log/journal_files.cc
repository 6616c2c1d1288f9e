#include "server/log/journal_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/status.h"
#include "server/log/journal_format.h"
#include "server/log/journal_header.h"

namespace selari {
namespace {

std::string FileName(int32_t shard, int64_t number) {
  return absl::StrFormat("shard-%05d-%09d.journal", shard, number);
}

// The number in a name of the shard; nothing for any other name.
std::optional<int64_t> NumberOf(absl::string_view name, int32_t shard) {
  int64_t number = 0;
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, absl::StrFormat("shard-%05d-", shard)) ||
      !absl::ConsumeSuffix(&digits, ".journal") ||
      !absl::SimpleAtoi(digits, &number) || number < 1 ||
      name != FileName(shard, number)) {
    return std::nullopt;
  }
  return number;
}

absl::Status CheckOwner(const JournalId& found, const JournalId& wanted) {
  if (found.job_id == wanted.job_id && found.shard == wanted.shard) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("it is of shard ", found.shard, " of job ", found.job_id,
                   ", and stands among the files of shard ", wanted.shard,
                   " of job ", wanted.job_id, "; move it away"));
}

// The header of the file, or none as in JournalFile.
absl::StatusOr<std::optional<JournalHeader>> ReadHeader(FileEnv& env,
                                                        const std::string& path,
                                                        const JournalId& id) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                          env.OpenForRead(path));
  std::string bytes(
      static_cast<size_t>(std::min(file->size(), kFileHeaderBytes)), '\0');
  SELARI_RETURN_IF_ERROR(file->ReadAt(0, absl::MakeSpan(bytes)));
  absl::StatusOr<JournalHeader> header = ParseJournalHeader(bytes);
  // A header is synced before the first record is written: without one there
  // is none that anybody was told of.
  if (absl::IsDataLoss(header.status()) && file->size() <= kFileHeaderBytes) {
    return std::optional<JournalHeader>();
  }
  SELARI_RETURN_IF_ERROR(header.status());
  SELARI_RETURN_IF_ERROR(CheckOwner(header->id, id));
  return std::optional<JournalHeader>(*std::move(header));
}

absl::Status RemoveDurably(FileEnv& env, absl::string_view dir,
                           absl::string_view path) {
  SELARI_RETURN_IF_ERROR(env.RemoveFile(path));
  return env.SyncDir(dir);
}

}  // namespace

std::string JournalPath(absl::string_view dir, int32_t shard, int64_t number) {
  return JoinPath(dir, FileName(shard, number));
}

absl::StatusOr<std::vector<JournalFile>> ListJournalFiles(FileEnv& env,
                                                          absl::string_view dir,
                                                          int32_t shard) {
  const absl::StatusOr<std::vector<DirEntry>> entries = env.List(dir);
  if (absl::IsNotFound(entries.status())) {
    return std::vector<JournalFile>();
  }
  SELARI_RETURN_IF_ERROR(entries.status());
  std::vector<JournalFile> files;
  for (const DirEntry& entry : *entries) {
    if (const std::optional<int64_t> number = NumberOf(entry.name, shard)) {
      files.push_back({*number, JoinPath(dir, entry.name), std::nullopt});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const JournalFile& a, const JournalFile& b) {
              return a.number < b.number;
            });
  return files;
}

absl::StatusOr<std::vector<JournalFile>> ReadJournalHeaders(
    FileEnv& env, absl::string_view dir, const JournalId& id) {
  SELARI_ASSIGN_OR_RETURN(std::vector<JournalFile> files,
                          ListJournalFiles(env, dir, id.shard));
  for (JournalFile& file : files) {
    absl::StatusOr<std::optional<JournalHeader>> header =
        ReadHeader(env, file.path, id);
    SELARI_RETURN_IF_ERROR(
        Annotate(header.status(), absl::StrCat("journal \"", file.path, "\"")));
    file.header = *std::move(header);
  }
  return files;
}

absl::Status RemoveJournalFilesBefore(FileEnv& env, absl::string_view dir,
                                      const JournalId& id, int64_t sequence) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<JournalFile> files,
                          ReadJournalHeaders(env, dir, id));
  size_t first_needed = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].header.has_value() &&
        files[i].header->first_sequence <= sequence) {
      first_needed = i;
    }
  }
  for (size_t i = 0; i < first_needed; ++i) {
    SELARI_RETURN_IF_ERROR(RemoveDurably(env, dir, files[i].path));
  }
  return absl::OkStatus();
}

absl::Status RemoveAllJournalFiles(FileEnv& env, absl::string_view dir,
                                   int32_t shard) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<JournalFile> files,
                          ListJournalFiles(env, dir, shard));
  for (const JournalFile& file : files) {
    SELARI_RETURN_IF_ERROR(RemoveDurably(env, dir, file.path));
  }
  return absl::OkStatus();
}

}  // namespace selari
