#include "cli/bench/wire_way.h"

namespace selari {

const char* WireKindName(WireKind kind) {
  switch (kind) {
    case WireKind::kPushApply:
      return "push_apply";
    case WireKind::kPull:
      return "pull";
    default:
      return "both";
  }
}

}  // namespace selari
