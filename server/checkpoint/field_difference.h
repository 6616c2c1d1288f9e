// What differs between two messages of one type, field by field.
//
// Thread safety: pure function.

#ifndef SELARI_SERVER_CHECKPOINT_FIELD_DIFFERENCE_H_
#define SELARI_SERVER_CHECKPOINT_FIELD_DIFFERENCE_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace selari {

struct FieldDifference {
  // E.g. "model.layers[0].dense.units", or the name of a oneof of which
  // another member is set, e.g. "optimizer.algorithm".
  std::string path;
  // Both values for people, cut off when they are long; "not set" for an
  // optional field, an entry of a list or a oneof that is not there. Of a
  // oneof they are the names of the members.
  std::string was;
  std::string is;
  // True for a single value, which text of `was` would restore.
  bool is_value = false;
};

// In the order of the fields' declaration. A message that is not set is equal
// to one without a value in it. REQUIRES: both are of one type.
std::vector<FieldDifference> CompareFields(const google::protobuf::Message& was,
                                           const google::protobuf::Message& is);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_FIELD_DIFFERENCE_H_
