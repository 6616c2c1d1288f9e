#include "server/checkpoint/checkpoint_path.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "common/file_env.h"

namespace selari {
namespace {

constexpr absl::string_view kStepPrefix = "step-";
constexpr absl::string_view kAttemptPrefix = ".tmp-";
constexpr absl::string_view kReplacedPrefix = ".old-";

}  // namespace

std::string CheckpointsDir(absl::string_view output_dir) {
  return JoinPath(output_dir, "checkpoints");
}

std::string JournalsDir(absl::string_view output_dir) {
  return JoinPath(output_dir, "journals");
}

std::string CheckpointName(int64_t step) {
  SELARI_CHECK(step >= 0);
  return absl::StrFormat("%s%09d", kStepPrefix, step);
}

std::optional<int64_t> ParseCheckpointName(absl::string_view name) {
  absl::string_view digits = name;
  int64_t step = 0;
  if (!absl::ConsumePrefix(&digits, kStepPrefix) ||
      !absl::SimpleAtoi(digits, &step) || step < 0 ||
      CheckpointName(step) != name) {
    return std::nullopt;
  }
  return step;
}

std::optional<int64_t> StepOfPath(absl::string_view path) {
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  return ParseCheckpointName(BaseName(path));
}

std::string AttemptName(int64_t step, absl::string_view attempt) {
  SELARI_CHECK(!attempt.empty());
  SELARI_CHECK(std::all_of(attempt.begin(), attempt.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  }));
  return absl::StrCat(kAttemptPrefix, CheckpointName(step), "-", attempt);
}

bool IsAttemptName(absl::string_view name) {
  return absl::StartsWith(name, kAttemptPrefix);
}

std::string ReplacedName(absl::string_view checkpoint_name) {
  return absl::StrCat(kReplacedPrefix, checkpoint_name);
}

std::optional<std::string> ParseReplacedName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kReplacedPrefix) ||
      !ParseCheckpointName(name).has_value()) {
    return std::nullopt;
  }
  return std::string(name);
}

std::string ShardFileName(int32_t shard) {
  SELARI_CHECK(shard >= 0);
  return absl::StrFormat("shard-%05d.safetensors", shard);
}

}  // namespace selari
