#include "server/log/journal_header.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "server/log/journal_format.h"

namespace selari {
namespace {

constexpr size_t kJobIdBytesMax = sizeof(FileHeaderLayout::job_id);

uint32_t ChecksumOf(const FileHeaderLayout& layout) {
  const absl::string_view bytes(reinterpret_cast<const char*>(&layout),
                                sizeof(layout));
  constexpr size_t kBegin = offsetof(FileHeaderLayout, checksum);
  return ExtendCrc32c(Crc32c(bytes.substr(0, kBegin)),
                      bytes.substr(kBegin + sizeof(layout.checksum)));
}

}  // namespace

absl::Status CheckJournalId(const JournalId& id) {
  if (id.job_id.empty() || id.job_id.size() > kJobIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a journal's job id has 1 to ", kJobIdBytesMax,
                     " bytes, this one has ", id.job_id.size()));
  }
  if (id.shard < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a journal of shard ", id.shard));
  }
  return absl::OkStatus();
}

std::string EncodeJournalHeader(const JournalHeader& header) {
  SELARI_CHECK(CheckJournalId(header.id).ok());
  FileHeaderLayout layout = {};
  std::memcpy(layout.magic, kJournalMagic, sizeof(layout.magic));
  layout.format_version = kJournalFormatVersion;
  layout.shard = header.id.shard;
  layout.first_sequence = header.first_sequence;
  layout.base_version = header.base_version;
  layout.salt = header.salt;
  layout.job_id_bytes = static_cast<uint32_t>(header.id.job_id.size());
  std::memcpy(layout.job_id, header.id.job_id.data(), header.id.job_id.size());
  layout.checksum = ChecksumOf(layout);
  return {reinterpret_cast<const char*>(&layout), sizeof(layout)};
}

absl::StatusOr<JournalHeader> ParseJournalHeader(absl::string_view bytes) {
  FileHeaderLayout layout;
  if (bytes.size() < sizeof(layout)) {
    return absl::DataLossError(absl::StrCat(
        "it has ", bytes.size(), " bytes, a header has ", sizeof(layout)));
  }
  std::memcpy(&layout, bytes.data(), sizeof(layout));
  if (std::memcmp(layout.magic, kJournalMagic, sizeof(layout.magic)) != 0) {
    return absl::DataLossError("it does not start as a journal does");
  }
  if (layout.checksum != ChecksumOf(layout)) {
    return absl::DataLossError("its header's checksum is wrong");
  }
  if (layout.format_version != kJournalFormatVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("it has format version ", layout.format_version,
                     ", this program reads version ", kJournalFormatVersion));
  }
  if (layout.job_id_bytes == 0 || layout.job_id_bytes > kJobIdBytesMax ||
      layout.shard < 0 || layout.first_sequence < 0) {
    return absl::DataLossError("its header has impossible numbers");
  }
  JournalHeader header;
  header.id.job_id.assign(layout.job_id, layout.job_id_bytes);
  header.id.shard = layout.shard;
  header.first_sequence = layout.first_sequence;
  header.base_version = layout.base_version;
  header.salt = layout.salt;
  header.checksum = layout.checksum;
  return header;
}

}  // namespace selari
