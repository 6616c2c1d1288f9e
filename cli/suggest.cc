#include "cli/suggest.h"

#include <algorithm>
#include <cstddef>

namespace selari {
namespace {

// Optimal string alignment: edits, with two neighbours swapped counted as one.
std::size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<std::size_t>> d(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& known) {
  // A third of the letters may be wrong.
  std::size_t best = word.size() / 3 + 1;
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t distance = Distance(word.substr(0, 64), candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace selari
