#include "worker/data/load.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/float_buffer.h"
#include "common/printable.h"
#include "common/status.h"
#include "selari/v1/job.pb.h"
#include "worker/data/csv.h"
#include "worker/data/encoded_array.h"
#include "worker/data/gunzip.h"
#include "worker/data/idx.h"
#include "worker/data/npy.h"

namespace selari {
namespace {

// Guards the memory against a wrong path or a packed bomb; the whole set must
// fit in memory anyway.
constexpr int64_t kFileBytesMax = int64_t{64} << 30;

absl::StatusOr<std::string> ReadUnpacked(FileEnv& env,
                                         const std::string& path) {
  SELARI_ASSIGN_OR_RETURN(std::string bytes,
                          ReadFile(env, path, kFileBytesMax));
  return MaybeGunzip(path, std::move(bytes), kFileBytesMax);
}

// IDX and NumPy alike: two files, one array each.
using ParseArray = absl::StatusOr<EncodedArray> (*)(std::string, std::string);

absl::StatusOr<Dataset> LoadArrays(FileEnv& env, ParseArray parse,
                                   const std::string& features_path,
                                   const std::string& labels_path,
                                   LabelKind label_kind) {
  SELARI_ASSIGN_OR_RETURN(std::string bytes, ReadUnpacked(env, features_path));
  SELARI_ASSIGN_OR_RETURN(const EncodedArray features,
                          parse(features_path, std::move(bytes)));
  SELARI_ASSIGN_OR_RETURN(bytes, ReadUnpacked(env, labels_path));
  SELARI_ASSIGN_OR_RETURN(const EncodedArray labels,
                          parse(labels_path, std::move(bytes)));
  Dataset dataset;
  dataset.source = features_path;
  dataset.label_source = labels_path;
  SELARI_ASSIGN_OR_RETURN(dataset.features, ToFloats(features));
  dataset.size = features.shape[0];
  dataset.feature_shape.assign(features.shape.begin() + 1,
                               features.shape.end());
  if (dataset.feature_shape.empty()) {
    dataset.feature_shape = {1};
  }
  if (label_kind == LabelKind::kClass) {
    SELARI_ASSIGN_OR_RETURN(dataset.labels, ToLabels(labels));
  } else {
    SELARI_ASSIGN_OR_RETURN(const std::shared_ptr<FloatBuffer> targets,
                            ToFloats(labels));
    dataset.targets.assign(targets->data(), targets->data() + targets->size());
  }
  const std::size_t label_count =
      dataset.labels.size() + dataset.targets.size();
  if (static_cast<int64_t>(label_count) != dataset.size) {
    return absl::InvalidArgumentError(absl::StrCat(
        features_path, " has ", dataset.size, " samples, ", labels_path,
        " has ", label_count, " labels; the two files must belong together"));
  }
  return dataset;
}

absl::StatusOr<Dataset> LoadCsv(FileEnv& env, const v1::CsvSource& csv,
                                const std::string& path, LabelKind label_kind,
                                int64_t class_count) {
  if (csv.delimiter().size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": delimiter '",
                                                   Excerpt(csv.delimiter()),
                                                   "' is not one character"));
  }
  if (csv.label_column().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": the job does not say which column has the labels; set "
                     "csv.label_column to its name"));
  }
  CsvOptions options;
  options.label_column = csv.label_column();
  options.feature_columns.assign(csv.feature_columns().begin(),
                                 csv.feature_columns().end());
  options.class_labels = label_kind == LabelKind::kClass;
  options.class_count = class_count;
  if (!csv.delimiter().empty()) {
    options.delimiter = csv.delimiter()[0];
  }
  SELARI_ASSIGN_OR_RETURN(const std::string text, ReadUnpacked(env, path));
  SELARI_ASSIGN_OR_RETURN(CsvTable table, ParseCsv(path, text, options));
  Dataset dataset;
  dataset.source = path;
  dataset.label_source = path;
  dataset.size = table.row_count;
  dataset.feature_shape = {static_cast<int64_t>(table.feature_names.size())};
  dataset.feature_names = std::move(table.feature_names);
  dataset.features = std::move(table.features);
  dataset.labels = std::move(table.labels);
  dataset.targets = std::move(table.targets);
  return dataset;
}

// Keeps the first `limit` samples; 0 keeps all.
void LimitSamples(int64_t limit, Dataset* dataset) {
  if (limit <= 0 || limit >= dataset->size) {
    return;
  }
  std::shared_ptr<FloatBuffer> kept =
      FloatBuffer::Allocate(limit * dataset->dim);
  std::copy_n(dataset->features->data(), kept->size(), kept->data());
  dataset->features = std::move(kept);
  dataset->size = limit;
  const std::size_t count = static_cast<std::size_t>(limit);
  dataset->labels.resize(std::min(dataset->labels.size(), count));
  dataset->targets.resize(std::min(dataset->targets.size(), count));
}

// Everything that depends on the training set alone.
struct Preparation {
  std::vector<int64_t> feature_shape;
  // Who says so, for messages.
  std::string shape_source = "data.feature_shape";
  int64_t class_count = 0;
  std::vector<FeatureScaling> scalings;
};

// Gives each sample the shape the job states, which must hold as many
// elements as the files say.
absl::Status SetFeatureShape(const Preparation& preparation, Dataset* dataset) {
  SELARI_ASSIGN_OR_RETURN(
      const int64_t count,
      ElementCount(preparation.shape_source, preparation.feature_shape));
  if (count != dataset->dim) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset->source, ": samples have shape ",
        ShapeName(dataset->feature_shape), ", ", preparation.shape_source,
        " says ", ShapeName(preparation.feature_shape)));
  }
  dataset->feature_shape = preparation.feature_shape;
  return absl::OkStatus();
}

absl::Status Prepare(const Preparation& preparation, Dataset* dataset) {
  SELARI_RETURN_IF_ERROR(SetFeatureShape(preparation, dataset));
  dataset->class_count = preparation.class_count;
  SELARI_RETURN_IF_ERROR(ValidateDataset(*dataset));
  for (const FeatureScaling& scaling : preparation.scalings) {
    SELARI_RETURN_IF_ERROR(ScaleFeatures(scaling, dataset));
  }
  return absl::OkStatus();
}

// Columns that trade places would be a model's silent ruin.
absl::Status CheckSameFeatures(const Dataset& train, const Dataset& test) {
  const size_t count =
      std::min(train.feature_names.size(), test.feature_names.size());
  for (size_t i = 0; i < count; ++i) {
    if (train.feature_names[i] != test.feature_names[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat(test.source, ": feature ", i, " is column '",
                       Excerpt(test.feature_names[i]), "', in ", train.source,
                       " it is '", Excerpt(train.feature_names[i]),
                       "'; name the same features in the same order in both "
                       "csv.feature_columns"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> LoadSource(FileEnv& env, const v1::Source& source,
                                   absl::string_view base_dir,
                                   LabelKind label_kind, int64_t class_count) {
  absl::StatusOr<Dataset> dataset = absl::InvalidArgumentError(
      "a data source has none of idx, csv and npy set");
  if (source.has_idx()) {
    dataset =
        LoadArrays(env, ParseIdx, JoinPath(base_dir, source.idx().features()),
                   JoinPath(base_dir, source.idx().labels()), label_kind);
  } else if (source.has_npy()) {
    dataset =
        LoadArrays(env, ParseNpy, JoinPath(base_dir, source.npy().features()),
                   JoinPath(base_dir, source.npy().labels()), label_kind);
  } else if (source.has_csv()) {
    dataset =
        LoadCsv(env, source.csv(), JoinPath(base_dir, source.csv().path()),
                label_kind, class_count);
  }
  SELARI_RETURN_IF_ERROR(dataset.status());
  SELARI_ASSIGN_OR_RETURN(
      dataset->dim, ElementCount(dataset->source, dataset->feature_shape));
  LimitSamples(source.sample_limit(), &*dataset);
  return dataset;
}

absl::StatusOr<DataSplits> LoadData(FileEnv& env, const v1::Data& data,
                                    absl::string_view base_dir,
                                    LabelKind label_kind) {
  DataSplits splits;
  SELARI_ASSIGN_OR_RETURN(
      splits.train,
      LoadSource(env, data.train(), base_dir, label_kind, data.class_count()));
  Dataset* const train = &splits.train;
  if (data.train_sample_count() != 0 &&
      data.train_sample_count() != train->size) {
    return absl::InvalidArgumentError(absl::StrCat(
        train->source, ": has ", train->size,
        " samples, data.train_sample_count says ", data.train_sample_count()));
  }
  Preparation preparation;
  preparation.feature_shape.assign(data.feature_shape().begin(),
                                   data.feature_shape().end());
  if (preparation.feature_shape.empty()) {
    preparation.feature_shape = train->feature_shape;
    preparation.shape_source =
        absl::StrCat("the training set, ", train->source, ",");
  }
  if (label_kind == LabelKind::kClass) {
    train->class_count = data.class_count();
    DeduceClassCount(train);
    preparation.class_count = train->class_count;
  }
  const float scale = data.scale() == 0.0f ? 1.0f : data.scale();
  if (data.shift() != 0.0f || scale != 1.0f) {
    preparation.scalings.push_back({{data.shift()}, {scale}});
  }
  SELARI_RETURN_IF_ERROR(Prepare(preparation, train));
  if (data.standardize()) {
    splits.standardisation = Standardisation(*train);
    preparation.scalings.push_back(splits.standardisation);
    SELARI_RETURN_IF_ERROR(ScaleFeatures(splits.standardisation, train));
  }
  splits.train_checksum = ChecksumOf(*train);
  if (data.has_test()) {
    SELARI_ASSIGN_OR_RETURN(splits.test,
                            LoadSource(env, data.test(), base_dir, label_kind,
                                       preparation.class_count));
    SELARI_RETURN_IF_ERROR(CheckSameFeatures(*train, *splits.test));
    SELARI_RETURN_IF_ERROR(Prepare(preparation, &*splits.test));
  }
  return splits;
}

}  // namespace selari
