#include "server/log/journal_record.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/crc32c.h"
#include "gtest/gtest.h"
#include "server/log/journal_format.h"
#include "server/log/journal_header.h"
#include "server/shard/shard_test_util.h"

namespace selari {
namespace {

constexpr uint32_t kFileChecksum = 0x12345678;

// Aligned as a file's bytes are.
struct Encoded {
  explicit Encoded(const ShardOp& op, int64_t sequence = 7) {
    const int64_t size = RecordBytes(op);
    words.assign(static_cast<size_t>(size / 8), ~uint64_t{0});
    std::vector<float> scratch(static_cast<size_t>(
        RecordScratchBlocks(op) * ReductionProgram::kBlockFloats));
    EncodeRecord({kFileChecksum, sequence, 2}, op, scratch.data(),
                 reinterpret_cast<char*>(words.data()));
  }
  absl::string_view bytes() const {
    return {reinterpret_cast<const char*>(words.data()), 8 * words.size()};
  }
  absl::string_view payload() const {
    return bytes().substr(kRecordHeaderBytes);
  }
  std::vector<uint64_t> words;
};

std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(i) + 0.5f);
  }
  return numbers;
}

PushOp Push(int64_t count) {
  return {4,
          {2, 0x1122334455667788},
          9,
          5,
          ReducedGradient(MakeSlice(Numbers(count)))};
}

ShardOp Decode(const Encoded& encoded) {
  const auto header = ParseRecordHeader(kFileChecksum, encoded.bytes());
  EXPECT_TRUE(header.has_value());
  EXPECT_TRUE(CheckRecordHeader(*header).ok());
  EXPECT_EQ(RecordBytes(*header), static_cast<int64_t>(encoded.bytes().size()));
  EXPECT_EQ(header->payload_checksum, Crc32c(encoded.payload()));
  return DecodeRecord(*header, encoded.payload(), nullptr);
}

std::vector<float> Values(const ReducedGradient& gradient) {
  std::vector<float> values(static_cast<size_t>(gradient.size()));
  std::vector<float> scratch(static_cast<size_t>(
      gradient.scratch_blocks() * ReductionProgram::kBlockFloats));
  gradient.CopyTo(values.data(), scratch.data());
  return values;
}

// The layout of docs/FORMAT.md: must never change.
TEST(JournalRecordTest, BytesAreAsDocumented) {
  const Encoded encoded(Push(1));
  EXPECT_EQ(absl::BytesToHexString(encoded.bytes().substr(8)),
            "03000000"          // type
            "db63b375"          // checksum of the payload
            "0700000000000000"  // sequence
            "01000000"          // count
            "02000000"          // uncommitted
            "04000000"          // chunk
            "02000000"          // worker
            "0500000000000000"  // clock
            "8877665544332211"  // incarnation
            "0900000000000000"  // push's sequence
            "0000003f"          // 0.5
            "00000000");        // up to a multiple of 8
  EXPECT_EQ(encoded.bytes().substr(0, 4), "SlRc");
  uint32_t checksum;
  std::memcpy(&checksum, encoded.bytes().data() + 4, 4);
  EXPECT_EQ(checksum,
            ExtendCrc32c(kFileChecksum, encoded.bytes().substr(8, 56)));
}

TEST(JournalRecordTest, PushComesBack) {
  for (const int64_t count : {1, 2, 2047, 2048, 2049, 10001}) {
    const PushOp op = Push(count);
    const Encoded encoded(op);
    const auto back = std::get<PushOp>(Decode(encoded));
    EXPECT_EQ(back.chunk, op.chunk);
    EXPECT_EQ(back.worker, op.worker);
    EXPECT_EQ(back.sequence, op.sequence);
    EXPECT_EQ(back.clock, op.clock);
    EXPECT_EQ(back.gradient.scratch_blocks(), 0);  // read where it lies
    EXPECT_EQ(Values(back.gradient), Numbers(count));
  }
}

TEST(JournalRecordTest, TotalsComeBack) {
  for (const std::vector<double>& totals :
       {std::vector<double>{}, {0.1}, {1e300, -0.0, 3}}) {
    const auto back =
        std::get<TotalsOp>(Decode(Encoded(TotalsOp{11, 1, totals})));
    EXPECT_EQ(back.step, 11);
    EXPECT_EQ(back.round, 1);
    EXPECT_EQ(back.totals, totals);
  }
}

// What several workers sent, in pieces, is one sum on the disk.
TEST(JournalRecordTest, ReducedGradientIsWrittenSummed) {
  const auto add = +[](int64_t n, const float* a, const float* b, float* y) {
    for (int64_t i = 0; i < n; ++i) {
      y[i] = a[i] + b[i];
    }
  };
  for (const int64_t count : {1, 3, 2048, 5001}) {
    const auto program = std::make_shared<const ReductionProgram>(
        ReductionTree(2), std::vector<TreeNode>{{0, 0}, {0, 1}});
    const ReducedGradient sum(
        {MakeSlice(Numbers(count)), MakeWireSlice(Numbers(count), 61, 1)},
        program, add);
    const Encoded encoded(ReducedOp{1, 2, sum});
    const auto back = std::get<ReducedOp>(Decode(encoded));
    EXPECT_EQ(back.chunk, 1);
    EXPECT_EQ(back.step, 2);
    EXPECT_EQ(Values(back.gradient), Values(sum));
    const ReducedGradient whole(MakeSlice(Values(sum)));
    EXPECT_EQ(Encoded(ReducedOp{1, 2, whole}).words, encoded.words);
  }
}

TEST(JournalRecordTest, HeaderOfAnotherFileOrWithAFlippedBitIsNone) {
  Encoded encoded(Push(3));
  EXPECT_FALSE(
      ParseRecordHeader(kFileChecksum + 1, encoded.bytes()).has_value());
  for (size_t bit = 0; bit < 8 * kRecordHeaderBytes; ++bit) {
    encoded.words[bit / 64] ^= uint64_t{1} << (bit % 64);
    EXPECT_FALSE(ParseRecordHeader(kFileChecksum, encoded.bytes()).has_value());
    encoded.words[bit / 64] ^= uint64_t{1} << (bit % 64);
  }
}

TEST(JournalRecordTest, ImpossibleNumbersAreDataLoss) {
  const RecordLayout good =
      *ParseRecordHeader(kFileChecksum, Encoded(Push(3)).bytes());
  EXPECT_TRUE(CheckRecordHeader(good).ok());
  std::vector<RecordLayout> bad(9, good);
  bad[0].type = 0;
  bad[1].type = 4;
  bad[2].type = 1;  // which has no worker
  bad[3].sequence = -1;
  bad[4].uncommitted = 8;  // more than there are
  bad[5].chunk = -1;
  bad[6].worker_id = -1;
  bad[7].step = -1;
  bad[8].push_sequence = 0;
  for (const RecordLayout& header : bad) {
    EXPECT_TRUE(absl::IsDataLoss(CheckRecordHeader(header)));
    EXPECT_GE(PayloadBytes(header), 0);
  }
}

TEST(JournalHeaderTest, BytesAreAsDocumentedAndComeBack) {
  const JournalHeader header = {{"00000000deadbeef", 3}, 17, 5, 99};
  const std::string bytes = EncodeJournalHeader(header);
  EXPECT_EQ(absl::BytesToHexString(absl::string_view(bytes).substr(0, 44)),
            "53454c4152494a4c"  // "SELARIJL"
            "01000000"          // format version
            "03000000"          // shard
            "1100000000000000"  // first sequence
            "0500000000000000"  // base version
            "6300000000000000"  // salt
            "10000000");        // bytes of the job id
  EXPECT_EQ(bytes.substr(48), "00000000deadbeef" + std::string(64, '\0'));
  const auto back = ParseJournalHeader(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->id.job_id, header.id.job_id);
  EXPECT_EQ(back->id.shard, 3);
  EXPECT_EQ(back->first_sequence, 17);
  EXPECT_EQ(back->base_version, 5);
  EXPECT_EQ(back->salt, 99u);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(absl::IsDataLoss(ParseJournalHeader(flipped).status()));
  }
  EXPECT_TRUE(
      absl::IsDataLoss(ParseJournalHeader(bytes.substr(0, 127)).status()));
}

TEST(JournalHeaderTest, LaterFormatIsToldFromDamage) {
  std::string bytes = EncodeJournalHeader({{"job", 0}, 0, 0, 1});
  bytes[8] = 2;
  const uint32_t checksum =
      ExtendCrc32c(Crc32c(absl::string_view(bytes).substr(0, 44)),
                   absl::string_view(bytes).substr(48));
  std::memcpy(&bytes[44], &checksum, 4);
  const absl::Status status = ParseJournalHeader(bytes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "version 2")) << status;
}

}  // namespace
}  // namespace selari
