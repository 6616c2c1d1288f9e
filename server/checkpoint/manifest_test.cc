#include "server/checkpoint/manifest.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

v1::CheckpointManifest Example() {
  v1::CheckpointManifest manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  *manifest.mutable_job() = ExampleJob({});
  manifest.set_step(7);
  for (int32_t shard = 0; shard < 3; ++shard) {
    v1::ShardFile& file = *manifest.add_shards();
    file.set_shard(shard);
    file.set_file_name(ShardFileName(shard));
    file.set_size_bytes(100);
    file.set_sha256(Sha256Hex("x"));
    file.set_version(7);
  }
  return manifest;
}

// A text with the checksum line that belongs to it.
std::string Sealed(absl::string_view body) {
  return absl::StrCat(body, "# sha256: ", Sha256Hex(body), "\n");
}

TEST(ManifestTest, EveryCutAndEveryFlippedBitIsFound) {
  const std::string text = SerializeManifest(Example());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ParseManifest(text.substr(0, size)).status()))
        << size;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    EXPECT_TRUE(absl::IsDataLoss(ParseManifest(flipped).status())) << i;
  }
}

TEST(ManifestTest, TextThatIsNoManifestIsDataLossWithThePlace) {
  const absl::Status status = ParseManifest(Sealed("step: x\n")).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StartsWith(status.message(), "line 1, column 7: "))
      << status;
}

TEST(ManifestTest, UnknownVersionIsRefusedByName) {
  v1::CheckpointManifest manifest = Example();
  manifest.set_format_version(2);
  manifest.set_program_version("selari 9");
  const absl::Status status =
      ParseManifest(SerializeManifest(manifest)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "format version 2 was written by selari 9; this program reads "
            "version 1");
}

TEST(ManifestTest, FieldOfANewerProgramIsSkipped) {
  const std::string text = SerializeManifest(Example());
  const std::string body = absl::StrCat(text.substr(0, text.rfind("# sha256")),
                                        "new_field { deep: [1, 2] }\n");
  EXPECT_TRUE(ParseManifest(Sealed(body)).ok());
}

TEST(ManifestTest, ContradictionsAreInvalid) {
  const auto check = [](auto change) {
    v1::CheckpointManifest manifest = Example();
    change(manifest);
    return std::string(CheckManifest(manifest).message());
  };
  using M = v1::CheckpointManifest;
  EXPECT_EQ(check([](M&) {}), "");
  EXPECT_EQ(check([](M& m) { m.set_step(-1); }), "step -1 is below 0");
  EXPECT_EQ(check([](M& m) { m.mutable_shards()->RemoveLast(); }),
            "the job has 3 shards, the manifest lists 2");
  EXPECT_EQ(check([](M& m) { m.mutable_shards()->SwapElements(0, 1); }),
            "entry 0 must be shard 0 in \"shard-00000.safetensors\", is shard "
            "1 in \"shard-00001.safetensors\"");
  EXPECT_TRUE(absl::StrContains(
      check([](M& m) { m.mutable_shards(1)->set_file_name("../../secret"); }),
      "\"../../secret\""));
  EXPECT_NE(check([](M& m) { m.mutable_shards(1)->set_sha256("00"); }), "");
  EXPECT_NE(check([](M& m) { m.mutable_shards(1)->set_size_bytes(-1); }), "");
  EXPECT_NE(check([](M& m) { m.mutable_job()->clear_tensors(); }), "");
  EXPECT_NE(check([](M& m) { m.mutable_job()->clear_job_id(); }), "");
  EXPECT_NE(check([](M& m) { m.set_state_digest("?"); }), "");
}

TEST(ManifestTest, LoadNamesThePath) {
  FaultFileEnv env;
  ASSERT_TRUE(env.CreateDirs("c").ok());
  absl::Status status = LoadManifest(env, "c").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(
      absl::StrContains(status.message(), "no complete checkpoint in \"c\""));
  ASSERT_TRUE(WriteFileAtomically(env, "c/MANIFEST.textproto", "x").ok());
  status = LoadManifest(env, "c").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StartsWith(status.message(), "\"c/MANIFEST.textproto\": "));
}

TEST(ManifestTest, FolderWithACheckpointsNameHoldsOneOfThatStep) {
  FaultFileEnv env;
  for (const absl::string_view dir : {"c/step-000000007", "c/step-000000099"}) {
    ASSERT_TRUE(env.CreateDirs(dir).ok());
    EXPECT_TRUE(absl::IsDataLoss(LoadManifest(env, dir).status()));
    ASSERT_TRUE(WriteFileAtomically(env, JoinPath(dir, kManifestFileName),
                                    SerializeManifest(Example()))
                    .ok());
  }
  EXPECT_TRUE(LoadManifest(env, "c/step-000000007/").ok());
  const absl::Status status = LoadManifest(env, "c/step-000000099").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "is of step 7, "));
  EXPECT_TRUE(absl::StrContains(status.message(), "as one of step 99 "));
  EXPECT_TRUE(absl::IsNotFound(LoadManifest(env, "c/step-000000008").status()));
}

TEST(ManifestTest, StoredContradictionIsDamage) {
  FaultFileEnv env;
  ASSERT_TRUE(env.CreateDirs("c").ok());
  v1::CheckpointManifest manifest = Example();
  manifest.set_step(-1);
  ASSERT_TRUE(WriteFileAtomically(env, "c/MANIFEST.textproto",
                                  SerializeManifest(manifest))
                  .ok());
  EXPECT_TRUE(absl::IsDataLoss(LoadManifest(env, "c").status()));
}

TEST(ManifestTest, ParsedIsWhatWasWritten) {
  v1::CheckpointManifest manifest = Example();
  manifest.mutable_job()->mutable_job()->mutable_optimizer()->set_weight_decay(
      0.1);
  manifest.mutable_job()->mutable_job()->mutable_data()->set_scale(1.0f / 255);
  const auto parsed = ParseManifest(SerializeManifest(manifest));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->SerializeAsString(), manifest.SerializeAsString());
}

}  // namespace
}  // namespace selari
