// Reads the file back record by record; that TensorBoard reads it is
// //tests/formats' to show.

#include "worker/metrics/event_writer.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/crc32c.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

uint64_t Number(absl::string_view bytes) {
  uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  }
  return value;
}

// The records of a file, each checksum checked.
std::vector<std::string> Records(FileEnv& env, const std::string& path) {
  const std::string file = *ReadFile(env, path, 1 << 20);
  absl::string_view rest = file;
  std::vector<std::string> records;
  while (!rest.empty()) {
    const auto size = static_cast<std::size_t>(Number(rest.substr(0, 8)));
    EXPECT_EQ(Number(rest.substr(8, 4)), MaskCrc32c(Crc32c(rest.substr(0, 8))));
    const absl::string_view data = rest.substr(12, size);
    EXPECT_EQ(Number(rest.substr(12 + size, 4)), MaskCrc32c(Crc32c(data)));
    records.emplace_back(data);
    rest.remove_prefix(12 + size + 4);
  }
  return records;
}

EventWriter::Options Example() {
  EventWriter::Options options;
  options.dir = "out/tensorboard";
  options.host = "host/1";
  options.wall_time_ms = 1500;
  return options;
}

TEST(EventWriterTest, FolderWithoutPermissionIsSaid) {
  FaultFileEnv env;
  env.DenyWrites("out");
  EXPECT_TRUE(
      absl::IsPermissionDenied(EventWriter::Create(env, Example()).status()));
}

TEST(EventWriterTest, FullDiskIsReportedAndLaterMadeUpFor) {
  FaultFileEnv env;
  const auto writer = EventWriter::Create(env, Example());
  ASSERT_TRUE(writer.ok()) << writer.status();
  env.SetCapacityBytes(60);
  EXPECT_TRUE(
      absl::IsResourceExhausted((*writer)->Write(2000, 1, {{"loss", 0.5}})));
  env.SetCapacityBytes(-1);
  EXPECT_TRUE((*writer)->Write(3000, 2, {{"loss", 0.25}}).ok());
  EXPECT_EQ(Records(env, (*writer)->path()).size(), 3u);
}

TEST(EventWriterTest, BytesAreTensorflowEvents) {
  FaultFileEnv env;
  const auto writer = EventWriter::Create(env, Example());
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_EQ((*writer)->path(),
            "out/tensorboard/events.out.tfevents.0000000001.host_1");
  ASSERT_TRUE((*writer)->Write(2000, 300, {{"a", 0.5}, {"b", -2}}).ok());
  const std::vector<std::string> records = Records(env, (*writer)->path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], std::string("\x09\0\0\0\0\0\0\xf8\x3f"  // 1.5 s
                                    "\x1a\x0d"
                                    "brain.Event:2",
                                    24));
  EXPECT_EQ(records[1], std::string("\x09\0\0\0\0\0\0\0\x40"  // 2.0 s
                                    "\x10\xac\x02"            // step 300
                                    "\x2a\x14"                // summary
                                    "\x0a\x08\x0a\x01"
                                    "a\x15\0\0\0\x3f"
                                    "\x0a\x08\x0a\x01"
                                    "b\x15\0\0\0\xc0",
                                    34));
}

TEST(EventWriterTest, RestartGetsItsOwnFileAndSaysWhereItGoesOn) {
  FaultFileEnv env;
  EventWriter::Options options = Example();
  ASSERT_TRUE(EventWriter::Create(env, options).ok());
  options.restart_step = 7;
  const auto writer = EventWriter::Create(env, options);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_EQ((*writer)->path(),
            "out/tensorboard/events.out.tfevents.0000000001.host_1.1");
  const std::vector<std::string> records = Records(env, (*writer)->path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].substr(9), "\x10\x07\x3a\x02\x08\x01");
}

}  // namespace
}  // namespace selari
