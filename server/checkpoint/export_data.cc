#include "server/checkpoint/export_data.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

DataArray MakeArray(const char* name, const std::vector<double>& values,
                    bool is_scalar) {
  DataArray array;
  array.declaration.name = name;
  array.declaration.type = ElementType::kF64;
  if (!is_scalar) {
    array.declaration.shape = {static_cast<int64_t>(values.size())};
  }
  array.bytes.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(double));
  return array;
}

}  // namespace

std::vector<DataArray> ScalingArrays(const v1::ResolvedJob& job) {
  const v1::Data& data = job.job().data();
  const bool per_feature = job.feature_shift_size() > 0;
  if (!job.job().has_data() || (data.standardize() && !per_feature)) {
    return {};
  }
  // ((x - a) * b - c) * d is (x - (a + c / b)) * (b * d).
  const double shift = data.shift();
  const double scale = data.scale() == 0 ? 1.0 : data.scale();
  std::vector<double> shifts = {shift};
  std::vector<double> scales = {scale};
  if (per_feature) {
    shifts.clear();
    scales.clear();
    for (int i = 0; i < job.feature_shift_size(); ++i) {
      shifts.push_back(shift + job.feature_shift(i) / scale);
      scales.push_back(scale * job.feature_scale(i));
    }
  }
  return {MakeArray("data/shift", shifts, !per_feature),
          MakeArray("data/scale", scales, !per_feature)};
}

std::string FeatureNamesJson(const v1::ResolvedJob& job) {
  if (job.feature_names_size() == 0) {
    return "";
  }
  nlohmann::json names = nlohmann::json::array();
  for (const std::string& name : job.feature_names()) {
    names.push_back(name);
  }
  // Replaces what is not UTF-8.
  return names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::map<std::string, std::string> DataMetadata(const v1::ResolvedJob& job) {
  std::map<std::string, std::string> metadata;
  std::string names = FeatureNamesJson(job);
  if (!names.empty()) {
    metadata["selari.feature_names"] = std::move(names);
  }
  const v1::Source& train = job.job().data().train();
  if (train.has_csv() && !train.csv().label_column().empty()) {
    metadata["selari.label_column"] = train.csv().label_column();
  }
  if (job.class_count() > 0) {
    metadata["selari.class_count"] = absl::StrCat(job.class_count());
  }
  return metadata;
}

}  // namespace selari
