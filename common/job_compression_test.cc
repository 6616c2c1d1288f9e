#include "common/job_compression.h"

#include <string>
#include <vector>

#include "common/job_config.h"
#include "common/reduction_tree.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"

namespace selari {
namespace {

constexpr char kGood[] = R"pb(
  data { train { npy { features: "x.npy" labels: "y.npy" } } }
  model { layers { dense { units: 10 } } }
  optimizer {
    sgd {}
    learning_rate: 0.1
  }
  cluster { workers: 2 }
)pb";

v1::Job Parse(const std::string& text) {
  v1::Job job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGood + text, &job))
      << text;
  FillJobDefaults(&job);
  return job;
}

v1::ResolvedJob Resolved(const std::string& text, int64_t total_steps) {
  v1::ResolvedJob job;
  *job.mutable_job() = Parse(text);
  job.set_total_steps(total_steps);
  for (const char* name : {"dense1/kernel", "dense1/bias", "conv2/kernel"}) {
    job.add_tensors()->set_name(name);
  }
  return job;
}

TEST(JobCompressionTest, DefaultsAreThoseOfTheProto) {
  EXPECT_FALSE(Parse("").has_compression());
  const v1::Job job = Parse(R"pb(
    compression {
      codec { int8_block {} }
      rules {
        tensors: "a"
        codec { top_k {} }
      }
      rules {
        tensors: "b"
        codec { low_rank {} }
      }
    })pb");
  const v1::Compression& compression = job.compression();
  EXPECT_EQ(compression.share_count(), 2);
  EXPECT_EQ(compression.reset_every_steps(), 50);
  EXPECT_EQ(compression.codec().int8_block().block_size(), 128);
  EXPECT_EQ(compression.rules(0).codec().top_k().fraction(), 0.01);
  EXPECT_EQ(compression.rules(1).codec().low_rank().rank(), 4);
  EXPECT_TRUE(ValidateJob(job).ok()) << ValidateJob(job);
}

TEST(JobCompressionTest, WhatCannotBeIsNamedByItsField) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"compression { codec { int8_block { block_size: 100 } } }",
            "compression.codec.int8_block.block_size is 100, must be 64, 128, "
            "192 or 256"},
           {"compression { codec { top_k { fraction: 1.5 } } }",
            "compression.codec.top_k.fraction is 1.5, must be in (0, 1]"},
           {"compression { codec { top_k { fraction: nan } } }",
            "compression.codec.top_k.fraction is nan, must be in (0, 1]"},
           {"compression { codec { low_rank { rank: -1 } } }",
            "compression.codec.low_rank.rank is -1, must be in [1, 64]"},
           {"compression { codec {} }",
            "compression.codec has no kind: add one of float16, bfloat16, "
            "int8_block, top_k and low_rank, e.g. codec { int8_block {} }"},
           {"compression { rules {} }",
            "compression.rules[0].tensors is empty: name the tensors it is "
            "for, e.g. \"*/kernel\""},
           {"compression { rules { tensors: '*' codec {} } }",
            "compression.rules[0].codec has no kind: add one of float16, "
            "bfloat16, int8_block, top_k and low_rank, e.g. codec { int8_block "
            "{} }"},
           {"compression { reset_every_steps: -1 }",
            "compression.reset_every_steps is -1, must be in [1, 65536]"},
           {"checkpointing { every_steps: 10 } compression {}",
            "checkpointing.every_steps is 10 but compression.reset_every_steps "
            "50: a checkpoint is taken only at a step at which gradients go "
            "out as they are; make every_steps a multiple of it"},
           {"compression { share_count: 9 }",
            "compression.share_count is 9, must be in [1, 8], the second being "
            "training.leaf_count"},
           {"compression { share_count: 1 }",
            "compression.share_count is 1, but worker 0 of cluster.workers 2 "
            "would hold a part of a share; make it a multiple of the workers"},
       }) {
    const absl::Status status = ValidateJob(Parse(c.text));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(JobCompressionTest, TheFirstRuleThatFitsCounts) {
  const v1::ResolvedJob job = Resolved(R"pb(
                                         compression {
                                           codec { float16 {} }
                                           rules { tensors: "*/bias" }
                                           rules {
                                             tensors: "dense*/k*l"
                                             codec { top_k {} }
                                           }
                                           rules {
                                             tensors: "dense*"
                                             codec { int8_block {} }
                                           }
                                         })pb",
                                       100);
  EXPECT_TRUE(CheckCompressionRules(job).ok());
  EXPECT_EQ(CodecOfTensor(job.job(), "dense1/bias"), nullptr);
  EXPECT_TRUE(CodecOfTensor(job.job(), "dense1/kernel")->has_top_k());
  EXPECT_TRUE(CodecOfTensor(job.job(), "dense1/kernel2")->has_int8_block());
  EXPECT_TRUE(CodecOfTensor(job.job(), "dense")->has_int8_block());
  EXPECT_TRUE(CodecOfTensor(job.job(), "conv2/kernel")->has_float16());
  EXPECT_EQ(CodecOfTensor(Parse(""), "dense1/kernel"), nullptr);
}

TEST(JobCompressionTest, ARuleForNothingIsRefused) {
  const v1::ResolvedJob job =
      Resolved("compression { rules { tensors: 'dense' } }", 100);
  EXPECT_EQ(CheckCompressionRules(job),
            absl::InvalidArgumentError(
                "compression.rules[0].tensors is \"dense\", which fits no "
                "tensor of the model; the first one is \"dense1/kernel\""));
}

TEST(JobCompressionTest, NodesAreThoseOfTheSharesWhoeverHoldsThem) {
  const ReductionTree tree(8);
  // Without compression, the fewest.
  EXPECT_EQ(NodesToPush(Parse(""), {0, 8}), (std::vector<TreeNode>{{3, 0}}));
  const v1::Job job = Parse("compression { share_count: 4 }");
  const std::vector<TreeNode> all = {{1, 0}, {1, 1}, {1, 2}, {1, 3}};
  EXPECT_EQ(NodesToPush(job, {0, 8}), all);
  for (const int32_t workers : {1, 2, 4}) {
    std::vector<TreeNode> nodes;
    for (int32_t worker = 0; worker < workers; ++worker) {
      for (const TreeNode& node :
           NodesToPush(job, tree.LeavesOfWorker(worker, workers))) {
        nodes.push_back(node);
      }
    }
    EXPECT_EQ(nodes, all) << workers;
  }
  // A worker's own steps are whole.
  EXPECT_EQ(NodesToPush(Parse("consistency { mode: CONSISTENCY_ASYNC } "
                              "compression { share_count: 4 }"),
                        {0, 8}),
            (std::vector<TreeNode>{{3, 0}}));
}

TEST(JobCompressionTest, NothingIsHeldBackEverySoOftenAndAtTheEnd) {
  const v1::ResolvedJob job =
      Resolved("compression { reset_every_steps: 10 }", 25);
  EXPECT_EQ(NextResetVersion(job, 0), 0);
  EXPECT_EQ(NextResetVersion(job, 1), 10);
  EXPECT_EQ(NextResetVersion(job, 10), 10);
  EXPECT_EQ(NextResetVersion(job, 21), 25);
  EXPECT_EQ(NextResetVersion(job, 25), 25);
  // The push of step 9 makes version 10.
  EXPECT_TRUE(IsResetStep(job, 9));
  EXPECT_FALSE(IsResetStep(job, 10));
  EXPECT_TRUE(IsResetStep(job, 24));
  EXPECT_EQ(NextResetVersion(Resolved("", 25), 3), 3);
  // Without an end.
  EXPECT_EQ(NextResetVersion(
                Resolved("compression { reset_every_steps: 10 }", 0), 21),
            30);
}

TEST(JobCompressionTest, AWorkersLastPushHoldsNothingBack) {
  const v1::ResolvedJob job = Resolved(
      "consistency { mode: CONSISTENCY_ASYNC } "
      "compression { reset_every_steps: 10 }",
      27);
  // Two workers: steps 0, 2, ..., 26 and 1, 3, ..., 25; last clocks 13 and 12.
  EXPECT_TRUE(IsResetStep(job, 9));
  EXPECT_FALSE(IsResetStep(job, 10));
  EXPECT_FALSE(IsResetStep(job, 11));
  EXPECT_TRUE(IsResetStep(job, 12));
  EXPECT_TRUE(IsResetStep(job, 13));
}

}  // namespace
}  // namespace selari
