// That NumPy and the safetensors library read these files is
// //tests/formats' to show.

#include "server/checkpoint/export.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/safetensors_reader.h"
#include "common/sha256.h"
#include "common/tensor_file.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {
namespace {

TEST(ExportTest, WhateverFailsNoHalfFileAppears) {
  for (const ExportFormat format :
       {ExportFormat::kSafetensors, ExportFormat::kNpz}) {
    bool hit = true;
    std::string sha256;
    for (int64_t call = 0; hit; ++call) {
      FaultFileEnv env;
      const auto reader =
          CheckpointReader::Open(env, *WriteExample(env, "c", {}));
      ASSERT_TRUE(reader.ok());
      env.FailCall({.call = call, .error = ENOSPC});
      const auto file =
          ExportCheckpoint(env, **reader, "model", {.format = format});
      hit = env.fault_hit();
      env.ClearFaults();
      EXPECT_EQ(file.ok(), !hit);
      EXPECT_FALSE(*env.Exists("model.tmp"));
      // When only the last sync failed, the file is there, and whole.
      const auto bytes = ReadFile(env, "model", 1 << 20);
      EXPECT_TRUE(bytes.ok() || hit) << bytes.status();
      EXPECT_TRUE(!bytes.ok() || sha256.empty() || Sha256Hex(*bytes) == sha256);
      sha256 = bytes.ok() ? Sha256Hex(*bytes) : sha256;
    }
  }
}

TEST(ExportTest, DamagedCheckpointIsNotExported) {
  FaultFileEnv env;
  const std::string dir = *WriteExample(env, "c", {});
  const std::string path = dir + "/shard-00001.safetensors";
  std::string bytes = *ReadFile(env, path, 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(WriteFileAtomically(env, path, bytes).ok());
  const auto reader = CheckpointReader::Open(env, dir);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(
      absl::IsDataLoss(ExportCheckpoint(env, **reader, "model", {}).status()));
  EXPECT_FALSE(*env.Exists("model"));
}

TEST(ExportTest, SafetensorsHoldsWholeTensors) {
  FaultFileEnv env;
  const auto reader = CheckpointReader::Open(env, *WriteExample(env, "c", {}));
  ASSERT_TRUE(reader.ok());
  const auto written =
      ExportCheckpoint(env, **reader, "model", {.include_slots = true});
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->sha256, Sha256Hex(*ReadFile(env, "model", 1 << 20)));
  const auto file = SafetensorsReader::Open(env, "model");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->header().metadata.at("selari.step"), "7");
  ASSERT_EQ((*file)->header().entries.size(), 9u);
  const SafetensorsEntry& slot = (*file)->header().entries[2];
  EXPECT_EQ(slot.tensor.name, "dense1/w/slot1");
  EXPECT_EQ(slot.tensor.shape, (std::vector<int64_t>{40, 30}));
  std::vector<float> values(1200);
  ASSERT_TRUE((*file)
                  ->ReadData(slot.begin,
                             absl::MakeSpan(
                                 reinterpret_cast<char*>(values.data()), 4800))
                  .ok());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], ExampleValue(0, 2, static_cast<int64_t>(i)));
  }
}

}  // namespace
}  // namespace selari
