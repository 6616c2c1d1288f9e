#include "worker/metrics/csv_writer.h"

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

CsvWriter::Options Example(int64_t restart_step) {
  CsvWriter::Options options;
  options.path = "metrics.csv";
  options.columns = {"loss", "accuracy"};
  options.restart_step = restart_step;
  return options;
}

std::string Read(FileEnv& env) {
  return ReadFile(env, "metrics.csv", 1000).value_or("absent");
}

TEST(CsvWriterTest, FullDiskIsReportedAndLaterMadeUpFor) {
  FaultFileEnv env;
  const auto writer = CsvWriter::Create(env, Example(-1));
  ASSERT_TRUE(writer.ok()) << writer.status();
  env.SetCapacityBytes(22);
  EXPECT_TRUE(absl::IsResourceExhausted((*writer)->Write(1, {{0.5}, {0.25}})));
  env.SetCapacityBytes(-1);
  EXPECT_TRUE((*writer)->Write(2, {{0.25}, std::nullopt}).ok());
  EXPECT_EQ(Read(env), "step,loss,accuracy\n1,0.5,0.25\n2,0.25,\n");
}

TEST(CsvWriterTest, OtherColumnsAreRefused) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteFileAtomically(env, "metrics.csv", "step,x\n1,2\n").ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CsvWriter::Create(env, Example(5)).status()));
  EXPECT_EQ(Read(env), "step,x\n1,2\n");
}

TEST(CsvWriterTest, RestartCutsLaterAndTornRows) {
  for (absl::string_view tail : {"", "30,3,3\n40,4,4\n", "30,", "2"}) {
    FaultFileEnv env;
    const std::string kept = "step,loss,accuracy\n10,1,1\n20,2,2\n";
    ASSERT_TRUE(
        WriteFileAtomically(env, "metrics.csv", kept + std::string(tail)).ok());
    const auto writer = CsvWriter::Create(env, Example(30));
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_EQ(Read(env), kept);
    ASSERT_TRUE((*writer)->Write(30, {{9}, {9}}).ok());
    EXPECT_EQ(Read(env), kept + "30,9,9\n");
  }
}

TEST(CsvWriterTest, NewRunStartsANewFile) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteFileAtomically(env, "metrics.csv", "old").ok());
  ASSERT_TRUE(CsvWriter::Create(env, Example(-1)).ok());
  EXPECT_EQ(Read(env), "step,loss,accuracy\n");
  // Interrupted in the header.
  ASSERT_TRUE(WriteFileAtomically(env, "metrics.csv", "step,lo").ok());
  ASSERT_TRUE(CsvWriter::Create(env, Example(3)).ok());
  EXPECT_EQ(Read(env), "step,loss,accuracy\n");
}

TEST(CsvWriterTest, NumbersReadBackAsTheyWere) {
  FaultFileEnv env;
  const auto writer = CsvWriter::Create(env, Example(-1));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(0, {{0.1}, {1.0 / 3}}).ok());
  ASSERT_TRUE((*writer)
                  ->Write(1, {{std::nan("")},
                              {std::numeric_limits<double>::infinity()}})
                  .ok());
  EXPECT_EQ(Read(env),
            "step,loss,accuracy\n0,0.1,0.3333333333333333\n1,nan,inf\n");
}

}  // namespace
}  // namespace selari
