#include "server/checkpoint/manifest.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/chunk_layout.h"
#include "common/file_env.h"
#include "common/job_layout.h"
#include "common/printable.h"
#include "common/sha256.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

constexpr char kHeading[] =
    "# proto-message: selari.v1.CheckpointManifest\n"
    "# A checkpoint of Selari; docs/FORMAT.md explains it.\n";
constexpr absl::string_view kChecksumLine = "# sha256: ";
constexpr std::size_t kHexDigits = 64;

// A model of a million tensors has a manifest of some 100 MB.
constexpr int64_t kManifestBytesMax = int64_t{1} << 30;

// The parser repeats what it read.
constexpr std::size_t kMessageBytesMax = 200;

// Far more than the messages nest.
constexpr int kDepthMax = 32;

bool IsChecksum(absl::string_view text) {
  return text.size() == kHexDigits &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Keeps the first complaint; the default would print them all.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) {
      text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ",
                           Excerpt(message, kMessageBytesMax));
    }
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The text without its checksum line.
absl::StatusOr<absl::string_view> CheckedBody(absl::string_view text) {
  const std::size_t line_bytes = kChecksumLine.size() + kHexDigits + 1;
  if (text.size() < line_bytes) {
    return absl::DataLossError("the checksum line is missing or cut off");
  }
  const absl::string_view body = text.substr(0, text.size() - line_bytes);
  const absl::string_view line = text.substr(body.size());
  if (!absl::StartsWith(line, kChecksumLine) || !absl::EndsWith(line, "\n")) {
    return absl::DataLossError("the checksum line is missing or cut off");
  }
  if (line.substr(kChecksumLine.size(), kHexDigits) != Sha256Hex(body)) {
    return absl::DataLossError(
        "the checksum does not match: the file is damaged, or was edited by "
        "hand");
  }
  return body;
}

absl::Status CheckShardFile(const v1::ShardFile& file, int32_t shard) {
  if (file.shard() != shard || file.file_name() != ShardFileName(shard)) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", shard, " must be shard ", shard, " in \"",
                     ShardFileName(shard), "\", is shard ", file.shard(),
                     " in \"", Excerpt(file.file_name()), "\""));
  }
  if (file.size_bytes() <= 0 || file.version() < 0 ||
      !IsChecksum(file.sha256())) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", shard, ": size ", file.size_bytes(),
                     ", version ", file.version(), " or sha256 \"",
                     Excerpt(file.sha256()), "\" is impossible"));
  }
  return absl::OkStatus();
}

// Nobody can have meant what stands there.
absl::Status AsDamage(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::DataLossError(status.message())
                                         : status;
}

}  // namespace

std::string SerializeManifest(const v1::CheckpointManifest& manifest) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  SELARI_CHECK(printer.PrintToString(manifest, &text));
  text.insert(0, kHeading);
  const std::string checksum = Sha256Hex(text);
  return absl::StrCat(text, kChecksumLine, checksum, "\n");
}

absl::StatusOr<v1::CheckpointManifest> ParseManifest(absl::string_view text) {
  SELARI_ASSIGN_OR_RETURN(const absl::string_view body, CheckedBody(text));
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  // A newer program may have added a field; what must not be ignored changes
  // the format version.
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kDepthMax);
  v1::CheckpointManifest manifest;
  if (!parser.ParseFromString(std::string(body), &manifest)) {
    return absl::DataLossError(error.text());
  }
  if (manifest.format_version() != kCheckpointFormatVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "format version ", manifest.format_version(), " was written by ",
        Excerpt(manifest.program_version()), "; this program reads version ",
        kCheckpointFormatVersion));
  }
  SELARI_RETURN_IF_ERROR(CheckManifest(manifest));
  return manifest;
}

absl::Status CheckManifest(const v1::CheckpointManifest& manifest) {
  SELARI_ASSIGN_OR_RETURN(const ChunkLayout layout,
                          MakeChunkLayout(manifest.job()));
  if (manifest.job().job_id().empty()) {
    return absl::InvalidArgumentError("job_id is missing");
  }
  if (manifest.step() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", manifest.step(), " is below 0"));
  }
  if (manifest.shards_size() != layout.shard_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job has ", layout.shard_count(),
                     " shards, the manifest lists ", manifest.shards_size()));
  }
  for (int32_t shard = 0; shard < layout.shard_count(); ++shard) {
    SELARI_RETURN_IF_ERROR(CheckShardFile(manifest.shards(shard), shard));
  }
  if (!manifest.state_digest().empty() &&
      !IsChecksum(manifest.state_digest())) {
    return absl::InvalidArgumentError(
        absl::StrCat("state_digest \"", Excerpt(manifest.state_digest()),
                     "\" is no SHA-256"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::CheckpointManifest> LoadManifest(FileEnv& env,
                                                    absl::string_view dir) {
  const std::string path = JoinPath(dir, kManifestFileName);
  const std::optional<int64_t> named_step = StepOfPath(dir);
  const absl::StatusOr<std::string> text =
      ReadFile(env, path, kManifestBytesMax);
  if (absl::IsNotFound(text.status())) {
    const std::string message = absl::StrCat(
        "no complete checkpoint in \"", dir, "\": ", text.status().message());
    // A checkpoint gets its name when its manifest is there.
    return named_step.has_value() && env.Exists(dir).value_or(false)
               ? absl::DataLossError(message)
               : absl::NotFoundError(message);
  }
  SELARI_RETURN_IF_ERROR(AsDamage(text.status()));
  absl::StatusOr<v1::CheckpointManifest> manifest = ParseManifest(*text);
  SELARI_RETURN_IF_ERROR(
      Annotate(AsDamage(manifest.status()), absl::StrCat("\"", path, "\"")));
  if (named_step.value_or(manifest->step()) != manifest->step()) {
    return absl::DataLossError(
        absl::StrCat("\"", path, "\" is of step ", manifest->step(),
                     ", its folder is called as one of step ", *named_step,
                     " would be: give the folder back the name ",
                     CheckpointName(manifest->step())));
  }
  return manifest;
}

}  // namespace selari
