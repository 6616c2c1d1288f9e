#include "server/checkpoint/checkpoint_reader.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/safetensors_reader.h"
#include "gtest/gtest.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

class CheckpointReaderTest : public testing::Test {
 protected:
  CheckpointReaderTest() : dir_(*WriteExample(env_, "c", {})) {}

  std::string Shard(int32_t shard) const {
    return JoinPath(dir_, ShardFileName(shard));
  }

  // Changes one file behind the manifest's back.
  template <class Change>
  void Damage(absl::string_view path, Change change) {
    std::string bytes = *ReadFile(env_, path, 1 << 20);
    change(bytes);
    ASSERT_TRUE(WriteFileAtomically(env_, path, bytes).ok());
  }

  absl::Status OpenStatus() {
    return CheckpointReader::Open(env_, dir_).status();
  }

  // Opens and reads every element; the first error.
  absl::Status ReadAll() {
    auto reader = CheckpointReader::Open(env_, dir_);
    if (!reader.ok()) {
      return reader.status();
    }
    for (int32_t shard = 0; shard < 3; ++shard) {
      absl::Status status = (*reader)->VerifyFile(shard);
      if (!status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  FaultFileEnv env_;
  const std::string dir_;
};

TEST_F(CheckpointReaderTest, MissingCheckpointIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(
      CheckpointReader::Open(env_, "c/step-000000008").status()));
}

TEST_F(CheckpointReaderTest, MissingFileIsDataLoss) {
  ASSERT_TRUE(env_.RemoveFile(Shard(1)).ok());
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(), Shard(1))) << status;
}

TEST_F(CheckpointReaderTest, FolderInThePlaceOfAFileIsDataLoss) {
  ASSERT_TRUE(env_.RemoveFile(Shard(1)).ok());
  ASSERT_TRUE(env_.CreateDirs(Shard(1)).ok());
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), Shard(1))) << status;
}

TEST_F(CheckpointReaderTest, FileWithoutPermissionIsSaid) {
  env_.FailCall({.call = 4, .error = EACCES});  // The first shard file.
  EXPECT_TRUE(absl::IsPermissionDenied(OpenStatus()));
}

TEST_F(CheckpointReaderTest, EveryTruncationIsDataLoss) {
  const std::string bytes = *ReadFile(env_, Shard(2), 1 << 20);
  for (std::size_t size = 0; size < bytes.size(); size += 41) {
    ASSERT_TRUE(
        WriteFileAtomically(env_, Shard(2), bytes.substr(0, size)).ok());
    EXPECT_TRUE(absl::IsDataLoss(OpenStatus())) << size;
  }
}

TEST_F(CheckpointReaderTest, EveryFlippedBitIsDataLossWithThePath) {
  const std::string bytes = *ReadFile(env_, Shard(1), 1 << 20);
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    ASSERT_TRUE(WriteFileAtomically(env_, Shard(1), flipped).ok());
    const absl::Status status = ReadAll();
    EXPECT_TRUE(absl::IsDataLoss(status)) << i << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), Shard(1)) ||
                absl::StrContains(status.message(), dir_))
        << status;
  }
}

TEST_F(CheckpointReaderTest, SwappedFilesAreNamed) {
  // Shards 0 and 1 have the same size.
  const std::string first = *ReadFile(env_, Shard(0), 1 << 20);
  const std::string second = *ReadFile(env_, Shard(1), 1 << 20);
  ASSERT_TRUE(WriteFileAtomically(env_, Shard(0), second).ok());
  ASSERT_TRUE(WriteFileAtomically(env_, Shard(1), first).ok());
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(), Shard(0))) << status;
}

TEST_F(CheckpointReaderTest, FileOfAnotherJobIsRefused) {
  const std::string other =
      *WriteExample(env_, "other", {.job_id = "00000000facade00"});
  Damage(Shard(1), [&](std::string& bytes) {
    bytes = *ReadFile(env_, JoinPath(other, ShardFileName(1)), 1 << 20);
  });
  const absl::Status status = OpenStatus();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "of job 00000000facade00, the manifest says"))
      << status;
}

TEST_F(CheckpointReaderTest, FileOfAnotherStepIsRefused) {
  const std::string other = *WriteExample(env_, "other", {.step = 8});
  Damage(Shard(1), [&](std::string& bytes) {
    bytes = *ReadFile(env_, JoinPath(other, ShardFileName(1)), 1 << 20);
  });
  EXPECT_TRUE(absl::StrContains(OpenStatus().message(), "at version 8"));
}

TEST_F(CheckpointReaderTest, ManifestOfAnotherCheckpointIsRefused) {
  const std::string other = *WriteExample(env_, "other", {.step = 8});
  Damage(JoinPath(dir_, kManifestFileName), [&](std::string& bytes) {
    bytes = *ReadFile(env_, JoinPath(other, kManifestFileName), 1 << 20);
  });
  EXPECT_TRUE(absl::IsDataLoss(OpenStatus()));
}

// A manifest that lists only what one server wrote, with the right checksums.
TEST_F(CheckpointReaderTest, ChunkThatIsHeldTwiceOrNotAtAllIsRefused) {
  v1::CheckpointManifest manifest = *LoadManifest(env_, dir_);
  std::vector<ShardSnapshot> snapshots = ExampleSnapshots({});
  const ChunkState chunk = snapshots[2].chunks.back();
  snapshots[2].chunks.pop_back();
  const auto rewrite = [&](const ShardSnapshot& snapshot) {
    *manifest.mutable_shards(snapshot.shard) =
        *WriteShardFile(env_, dir_, manifest.job(), snapshot);
    return CheckpointReader::OpenUnpublished(env_, dir_, manifest).status();
  };
  absl::Status status = rewrite(snapshots[2]);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "\"scale\" has 1 elements, the files hold 0"))
      << status;
  snapshots[2].chunks.push_back(chunk);
  EXPECT_TRUE(rewrite(snapshots[2]).ok());
  snapshots[1].chunks.push_back(chunk);
  EXPECT_TRUE(absl::IsDataLoss(rewrite(snapshots[1])));
}

TEST_F(CheckpointReaderTest, FilesWithDifferentSlotsAreRefused) {
  v1::CheckpointManifest manifest = *LoadManifest(env_, dir_);
  *manifest.mutable_shards(1) = *WriteShardFile(
      env_, dir_, manifest.job(), ExampleSnapshots({.slot_count = 1})[1]);
  EXPECT_TRUE(
      absl::StrContains(CheckpointReader::OpenUnpublished(env_, dir_, manifest)
                            .status()
                            .message(),
                        "holds 1 optimizer slots, files before it hold 2"));
}

TEST_F(CheckpointReaderTest, ReadsAnyRangeOfAnyArray) {
  const auto reader = CheckpointReader::Open(env_, dir_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->slot_count(), 2);
  for (int32_t tensor = 0; tensor < 3; ++tensor) {
    const int64_t count = (*reader)->ElementCount(tensor);
    for (int32_t array = 0; array <= 2; ++array) {
      for (int64_t begin = 0; begin < count; begin += 17) {
        std::vector<float> out(
            static_cast<std::size_t>(std::min<int64_t>(count - begin, 700)));
        ASSERT_TRUE(
            (*reader)
                ->Read({.tensor = tensor, .array = array, .offset = begin},
                       absl::MakeSpan(out))
                .ok());
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_EQ(out[i], ExampleValue(tensor, array,
                                         begin + static_cast<int64_t>(i)));
        }
      }
    }
  }
}

TEST_F(CheckpointReaderTest, AnySafetensorsReaderSeesTheChunks) {
  const auto file = SafetensorsReader::Open(env_, Shard(2));
  ASSERT_TRUE(file.ok());
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : (*file)->header().entries) {
    names.push_back(entry.tensor.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "dense1/w/chunk-00000002", "dense1/w/chunk-00000002/slots",
                "dense1/b/chunk-00000003", "dense1/b/chunk-00000003/slots",
                "scale/chunk-00000004", "scale/chunk-00000004/slots"}));
}

}  // namespace
}  // namespace selari
