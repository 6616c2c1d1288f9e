#include "server/coordinator/wait_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace selari {

std::string MemberNames(const std::vector<const Member*>& members) {
  SELARI_CHECK(!members.empty());
  std::string text = MemberName(members.front()->kind, members.front()->id);
  if (members.size() == 1) {
    return text;
  }
  const size_t space = text.find(' ');
  text.insert(space, "s");
  for (size_t i = 1; i < members.size(); ++i) {
    absl::StrAppend(&text, i + 1 == members.size() ? " and " : ", ",
                    members[i]->id);
  }
  return text;
}

std::string MissingText(const std::vector<const Member*>& missing,
                        int32_t count, const WaitLimits& limits) {
  const std::string names = MemberNames(missing);
  int64_t since_ms = missing.front()->missing_since_ms;
  bool lost = false;
  for (const Member* member : missing) {
    since_ms = std::min(since_ms, member->missing_since_ms);
    lost |= member->ever_joined();
  }
  const int64_t missing_ms = limits.now_ms - since_ms;
  const int64_t left_ms = std::max<int64_t>(limits.give_up_ms - missing_ms, 0);
  return absl::StrCat("waits for ", names, " of ", count,
                      lost ? ", missing for " : " to join, ", missing_ms / 1000,
                      lost ? " s" : " s so far", "; gives up in ",
                      left_ms / 1000, " s");
}

}  // namespace selari
