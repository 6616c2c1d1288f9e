#include "cli/chaos/fault_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/check.h"
#include "common/random.h"

namespace selari {
namespace {

constexpr double kPauseMinSeconds = 0.2;
constexpr double kPauseMaxSeconds = 2.0;

RandomKey KeyOf(int64_t seed) {
  return MakeRandomKey(static_cast<uint64_t>(seed), RandomStream::kTest);
}

}  // namespace

const std::vector<std::string>& FaultNames() {
  static const auto* const names = new std::vector<std::string>{
      "kill-server", "kill-worker", "kill-coordinator", "pause-server",
      "pause-worker"};
  return *names;
}

std::optional<FaultKind> FaultOfName(absl::string_view name) {
  const std::vector<std::string>& names = FaultNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<FaultKind>(found - names.begin());
}

bool IsKill(FaultKind kind) {
  return kind != FaultKind::kPauseServer && kind != FaultKind::kPauseWorker;
}

bool IsOfServer(FaultKind kind) {
  return kind == FaultKind::kKillServer || kind == FaultKind::kPauseServer;
}

FaultPlan::FaultPlan(int64_t seed, double every_seconds,
                     std::vector<FaultKind> kinds)
    : seed_(seed), every_seconds_(every_seconds), kinds_(std::move(kinds)) {
  SELARI_CHECK(every_seconds_ > 0 && !kinds_.empty());
  Advance(0);
}

double FaultPlan::Uniform() {
  return static_cast<double>(UniformFromWord(
      static_cast<uint32_t>(RandomWord64(KeyOf(seed_), index_++))));
}

void FaultPlan::Advance(double now_seconds) {
  next_.at_seconds = std::max(next_.at_seconds, now_seconds) +
                     every_seconds_ * (0.5 + Uniform());
  next_.pause_seconds =
      kPauseMinSeconds + (kPauseMaxSeconds - kPauseMinSeconds) * Uniform();
  next_.choice = RandomWord64(KeyOf(seed_), index_++);
  next_.kind = kinds_[static_cast<size_t>(
      BoundedFromWord64(RandomWord64(KeyOf(seed_), index_++), kinds_.size()))];
}

}  // namespace selari
