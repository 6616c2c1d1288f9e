#include "common/job_compression.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/job_reduction.h"
#include "common/printable.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int32_t kResetEveryStepsDefault = 50;
constexpr int32_t kResetEveryStepsMax = 65536;
constexpr int32_t kBlockSizeDefault = 128;
constexpr int32_t kBlockSizeStep = 64;
constexpr int32_t kBlockSizeMax = 256;
constexpr double kFractionDefault = 0.01;
constexpr int32_t kRankDefault = 4;
constexpr int32_t kRankMax = 64;
constexpr int kRulesMax = 1024;

void FillCodecDefaults(v1::GradientCodec* codec) {
  if (codec->has_int8_block() && codec->int8_block().block_size() == 0) {
    codec->mutable_int8_block()->set_block_size(kBlockSizeDefault);
  }
  if (codec->has_top_k() && codec->top_k().fraction() == 0) {
    codec->mutable_top_k()->set_fraction(kFractionDefault);
  }
  if (codec->has_low_rank() && codec->low_rank().rank() == 0) {
    codec->mutable_low_rank()->set_rank(kRankDefault);
  }
}

absl::Status CheckCodec(const std::string& field,
                        const v1::GradientCodec& codec) {
  switch (codec.kind_case()) {
    case v1::GradientCodec::kFloat16:
    case v1::GradientCodec::kBfloat16:
      return absl::OkStatus();
    case v1::GradientCodec::kInt8Block: {
      const int32_t size = codec.int8_block().block_size();
      if (size < kBlockSizeStep || size > kBlockSizeMax ||
          size % kBlockSizeStep != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(field, ".int8_block.block_size is ", size,
                         ", must be 64, 128, 192 or 256"));
      }
      return absl::OkStatus();
    }
    case v1::GradientCodec::kTopK: {
      const double fraction = codec.top_k().fraction();
      if (!(fraction > 0 && fraction <= 1)) {
        return absl::InvalidArgumentError(absl::StrCat(
            field, ".top_k.fraction is ", fraction, ", must be in (0, 1]"));
      }
      return absl::OkStatus();
    }
    case v1::GradientCodec::kLowRank: {
      const int32_t rank = codec.low_rank().rank();
      if (rank < 1 || rank > kRankMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(field, ".low_rank.rank is ", rank, ", must be in [1, ",
                         kRankMax, "]"));
      }
      return absl::OkStatus();
    }
    case v1::GradientCodec::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field,
      " has no kind: add one of float16, bfloat16, int8_block, top_k and "
      "low_rank, e.g. codec { int8_block {} }"));
}

// * stands for any characters, none included. Without backtracking further than
// to the last *.
bool Fits(absl::string_view pattern, absl::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = absl::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

std::string RuleName(int index) {
  return absl::StrCat("compression.rules[", index, "]");
}

std::vector<TreeNode> NodesOfShares(const v1::Job& job) {
  const ReductionTree tree(job.training().leaf_count());
  const int32_t shares = job.compression().share_count();
  std::vector<TreeNode> nodes;
  for (int32_t share = 0; share < shares; ++share) {
    for (const TreeNode& node :
         tree.Cover(tree.LeavesOfWorker(share, shares))) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

// No node may lie in two workers' leaves.
absl::Status CheckShares(const v1::Job& job) {
  const int32_t shares = job.compression().share_count();
  const int32_t leaf_count = job.training().leaf_count();
  if (shares < 1 || shares > leaf_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression.share_count is ", shares, ", must be in [1, ",
                     leaf_count, "], the second being training.leaf_count"));
  }
  const ReductionTree tree(leaf_count);
  std::set<int32_t> node_ends;
  for (const TreeNode& node : NodesOfShares(job)) {
    node_ends.insert(tree.Leaves(node).end);
  }
  const int32_t workers = job.cluster().workers();
  for (int32_t worker = 0; worker < workers; ++worker) {
    if (node_ends.count(tree.LeavesOfWorker(worker, workers).end) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "compression.share_count is ", shares, ", but worker ", worker,
          " of cluster.workers ", workers,
          " would hold a part of a share; make it a multiple of the workers"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void FillCompressionDefaults(v1::Job* job) {
  if (!job->has_compression()) {
    return;
  }
  v1::Compression* const compression = job->mutable_compression();
  if (compression->share_count() == 0) {
    compression->set_share_count(job->cluster().workers());
  }
  if (compression->reset_every_steps() == 0) {
    compression->set_reset_every_steps(kResetEveryStepsDefault);
  }
  if (compression->has_codec()) {
    FillCodecDefaults(compression->mutable_codec());
  }
  for (v1::CompressionRule& rule : *compression->mutable_rules()) {
    if (rule.has_codec()) {
      FillCodecDefaults(rule.mutable_codec());
    }
  }
}

absl::Status CheckCompression(const v1::Job& job) {
  if (!job.has_compression()) {
    return absl::OkStatus();
  }
  const v1::Compression& compression = job.compression();
  if (compression.has_codec()) {
    SELARI_RETURN_IF_ERROR(
        CheckCodec("compression.codec", compression.codec()));
  }
  if (compression.rules_size() > kRulesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression has ", compression.rules_size(),
                     " rules, at most ", kRulesMax));
  }
  for (int i = 0; i < compression.rules_size(); ++i) {
    const v1::CompressionRule& rule = compression.rules(i);
    if (rule.tensors().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          RuleName(i), ".tensors is empty: name the tensors it is for, e.g. ",
          "\"*/kernel\""));
    }
    if (rule.has_codec()) {
      SELARI_RETURN_IF_ERROR(
          CheckCodec(absl::StrCat(RuleName(i), ".codec"), rule.codec()));
    }
  }
  const int32_t reset = compression.reset_every_steps();
  if (reset < 1 || reset > kResetEveryStepsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression.reset_every_steps is ", reset,
                     ", must be in [1, ", kResetEveryStepsMax, "]"));
  }
  if (!IsSync(job)) {
    return absl::OkStatus();
  }
  const int64_t every = job.checkpointing().every_steps();
  if (every % reset != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpointing.every_steps is ", every,
        " but compression.reset_every_steps ", reset,
        ": a checkpoint is taken only at a step at which gradients go out as "
        "they are; make every_steps a multiple of it"));
  }
  return CheckShares(job);
}

absl::Status CheckCompressionRules(const v1::ResolvedJob& job) {
  const v1::Compression& compression = job.job().compression();
  for (int i = 0; i < compression.rules_size(); ++i) {
    const std::string& pattern = compression.rules(i).tensors();
    const bool fits = std::any_of(job.tensors().begin(), job.tensors().end(),
                                  [&](const v1::TensorSpec& tensor) {
                                    return Fits(pattern, tensor.name());
                                  });
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          RuleName(i), ".tensors is \"", Excerpt(pattern),
          "\", which fits no tensor of the model; the first one is \"",
          job.tensors_size() > 0 ? job.tensors(0).name() : "", "\""));
    }
  }
  return absl::OkStatus();
}

const v1::GradientCodec* CodecOfTensor(const v1::Job& job,
                                       absl::string_view name) {
  for (const v1::CompressionRule& rule : job.compression().rules()) {
    if (Fits(rule.tensors(), name)) {
      return rule.has_codec() ? &rule.codec() : nullptr;
    }
  }
  return job.compression().has_codec() ? &job.compression().codec() : nullptr;
}

std::vector<TreeNode> NodesToPush(const v1::Job& job, LeafRange leaves) {
  const ReductionTree tree(job.training().leaf_count());
  if (!job.has_compression() || !IsSync(job)) {
    return tree.Cover(leaves);
  }
  std::vector<TreeNode> nodes;
  for (const TreeNode& node : NodesOfShares(job)) {
    const LeafRange of_node = tree.Leaves(node);
    if (of_node.begin >= leaves.begin && of_node.end <= leaves.end) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

bool IsResetVersion(const v1::ResolvedJob& job, int64_t version) {
  return NextResetVersion(job, version) == version;
}

int64_t NextResetVersion(const v1::ResolvedJob& job, int64_t version) {
  if (!job.job().has_compression()) {
    return version;
  }
  const int64_t every = job.job().compression().reset_every_steps();
  const int64_t next = (version + every - 1) / every * every;
  const int64_t last = job.total_steps();
  return last > 0 && version <= last ? std::min(next, last) : next;
}

bool IsResetStep(const v1::ResolvedJob& job, int64_t step) {
  if (IsSync(job.job())) {
    return IsResetVersion(job, step + 1);
  }
  if (!job.job().has_compression()) {
    return true;
  }
  // Worker w of W does the steps w, w + W, ... below the last one.
  const int64_t workers = job.job().cluster().workers();
  const bool ends =
      job.total_steps() > 0 && (step + 2) * workers > job.total_steps();
  return ends || (step + 1) % job.job().compression().reset_every_steps() == 0;
}

}  // namespace selari
