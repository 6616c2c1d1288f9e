// Loading the data section of a job: reads, unpacks, decodes, checks and
// scales the training and the test set.

#ifndef SELARI_WORKER_DATA_LOAD_H_
#define SELARI_WORKER_DATA_LOAD_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "worker/data/dataset.h"

namespace selari {

namespace v1 {
class Data;
class Source;
}  // namespace v1

// What the loss expects of a label.
enum class LabelKind {
  kClass,   // an integer in [0, class_count)
  kTarget,  // any finite number
};

struct DataSplits {
  Dataset train;
  // ChecksumOf(train).
  uint32_t train_checksum = 0;
  // Absent when the job has no test source.
  std::optional<Dataset> test;
  // What data.standardize came to; empty without.
  FeatureScaling standardisation;
};

// Loads both sets of `data`. Relative paths start at `base_dir`. The test set
// gets the training set's scaling and class count. Blocks on the disk.
// NOT_FOUND and other file errors name the path; INVALID_ARGUMENT names file,
// place and numbers of whatever does not fit.
absl::StatusOr<DataSplits> LoadData(FileEnv& env, const v1::Data& data,
                                    absl::string_view base_dir,
                                    LabelKind label_kind);

// Loads one source without scaling; the result's class_count stays 0 for kClass
// and every label is >= 0. A CSV file's labels must be below `class_count`
// unless that is 0: it can name the line.
absl::StatusOr<Dataset> LoadSource(FileEnv& env, const v1::Source& source,
                                   absl::string_view base_dir,
                                   LabelKind label_kind, int64_t class_count);

}  // namespace selari

#endif  // SELARI_WORKER_DATA_LOAD_H_
