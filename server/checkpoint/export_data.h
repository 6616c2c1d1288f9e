// What an exported model needs to be used: how its features were prepared.
//
// Thread safety: pure functions.

#ifndef SELARI_SERVER_CHECKPOINT_EXPORT_DATA_H_
#define SELARI_SERVER_CHECKPOINT_EXPORT_DATA_H_

#include <map>
#include <string>
#include <vector>

#include "common/tensor_file.h"
#include "selari/v1/job.pb.h"

namespace selari {

// One array with its bytes.
struct DataArray {
  TensorDeclaration declaration;
  std::string bytes;
};

// "data/shift" and "data/scale", F64: a raw feature x enters the model as
// (x - shift) * scale. Scalars, or one value for each feature with
// data.standardize. None for a job without data, or when the job does not know
// the statistics.
std::vector<DataArray> ScalingArrays(const v1::ResolvedJob& job);

// The features' names as a JSON list; empty when there are none.
std::string FeatureNamesJson(const v1::ResolvedJob& job);

// "selari.feature_names", "selari.label_column" and "selari.class_count", each
// if there is such a thing.
std::map<std::string, std::string> DataMetadata(const v1::ResolvedJob& job);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_EXPORT_DATA_H_
