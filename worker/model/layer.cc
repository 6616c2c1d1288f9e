#include "worker/model/layer.h"

#include <algorithm>

namespace selari {

float* GrowTo(int64_t floats, std::shared_ptr<FloatBuffer>* buffer) {
  if (*buffer == nullptr || (*buffer)->size() < floats) {
    *buffer = FloatBuffer::Allocate(floats);
  }
  return (*buffer)->data();
}

float* LayerEnvironment::Workspace(int thread, int64_t floats) {
  return GrowTo(floats, &workspaces_[static_cast<std::size_t>(thread)]);
}

}  // namespace selari
