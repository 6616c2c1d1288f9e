#include "worker/metrics/append_log.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/status.h"

namespace selari {

AppendLog::AppendLog(FileEnv& env, absl::string_view path, int64_t size_bytes,
                     const Options& options)
    : env_(env), path_(path), options_(options), written_bytes_(size_bytes) {}

absl::Status AppendLog::Append(absl::string_view record) {
  if (static_cast<int64_t>(pending_.size() + record.size()) >
      options_.pending_bytes_max) {
    ++lost_count_;
  } else {
    pending_.append(record.data(), record.size());
  }
  return WritePending();
}

absl::Status AppendLog::Sync() {
  SELARI_RETURN_IF_ERROR(WritePending());
  absl::Status status = file_->Sync();
  if (!status.ok()) {
    file_.reset();
  }
  return status;
}

absl::Status AppendLog::WritePending() {
  if (file_ == nullptr) {
    SELARI_ASSIGN_OR_RETURN(file_, env_.OpenForAppend(path_));
    // A torn record would end the file for most readers.
    absl::Status cut = env_.Truncate(path_, written_bytes_);
    if (!cut.ok()) {
      file_.reset();
      return cut;
    }
  }
  if (pending_.empty()) {
    return absl::OkStatus();
  }
  absl::Status status = file_->Append(pending_);
  if (!status.ok()) {
    file_.reset();
    return status;
  }
  written_bytes_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
  return absl::OkStatus();
}

}  // namespace selari
