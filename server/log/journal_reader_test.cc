// What the reader makes of every damage: the log up to some op, exactly, or
// DATA_LOSS.

#include "server/log/journal_reader.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "server/log/journal_files.h"
#include "server/log/journal_format.h"
#include "server/log/journal_record.h"
#include "server/log/journal_test_util.h"
#include "server/log/journal_writer.h"

namespace selari {
namespace {

constexpr int64_t kGroup = 3;

// One small log in one file; `bytes_` is what it should be.
class JournalDamageTest : public testing::TestWithParam<std::string> {
 protected:
  JournalDamageTest() : log_(MakeLog()), prefixes_(Fingerprints(log_)) {}

  static RecordedLog MakeLog() {
    const Tensors tensors = {{"a", 3}, {"b", 1}, {"c", 4}};
    return GetParam() == "async"
               ? RecordOrdered(v1::CONSISTENCY_ASYNC, tensors, /*clocks=*/1)
               : RecordSync(GetParam(), tensors, /*shards=*/1, /*steps=*/2)[0];
  }

  void Write(int64_t group) {
    path_ = WriteJournal(&env_, "j", log_, group);
    bytes_ = *ReadFile(env_, path_, 1 << 20);
    for (size_t at = kFileHeaderBytes; at < bytes_.size();) {
      offsets_.push_back(at);
      RecordLayout record;
      std::memcpy(&record, bytes_.data() + at, sizeof(record));
      at += static_cast<size_t>(RecordBytes(record));
    }
    ASSERT_EQ(offsets_.size(), log_.ops.size());
  }

  // Replays the file with these bytes.
  Replayed Read(absl::string_view bytes) {
    EXPECT_TRUE(WriteFileAtomically(env_, path_, bytes).ok());
    return ReplayJournal(&env_, "j", log_);
  }

  // The number of ops of the prefix that was read, or -1 for DATA_LOSS; any
  // other outcome fails.
  int64_t Outcome(absl::string_view bytes) {
    const Replayed replayed = Read(bytes);
    if (!replayed.contents.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(replayed.contents.status()))
          << replayed.contents.status();
      EXPECT_TRUE(
          absl::StrContains(replayed.contents.status().message(), path_))
          << replayed.contents.status();
      return -1;
    }
    const int64_t ops = replayed.contents->next_sequence;
    EXPECT_EQ(replayed.fingerprint, prefixes_[static_cast<size_t>(ops)]);
    return ops;
  }

  FaultFileEnv env_;
  const RecordedLog log_;
  const std::vector<std::string> prefixes_;
  std::string path_;
  std::string bytes_;
  std::vector<size_t> offsets_;  // of the records
};

TEST_P(JournalDamageTest, FileCutAtAnyByteGivesThePrefix) {
  Write(kGroup);
  for (size_t size = 0; size <= bytes_.size(); ++size) {
    int64_t whole = 0;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const size_t end =
          i + 1 < offsets_.size() ? offsets_[i + 1] : bytes_.size();
      whole += size >= end ? 1 : 0;
    }
    ASSERT_EQ(Outcome(bytes_.substr(0, size)), whole) << size;
  }
}

TEST_P(JournalDamageTest, TornTailIsToldWithItsBytes) {
  Write(kGroup);
  const Replayed replayed =
      Read(bytes_.substr(0, offsets_.back() + kRecordHeaderBytes + 1));
  ASSERT_TRUE(replayed.contents.ok());
  const TornTail& tail = replayed.contents->torn_tail.value();
  EXPECT_EQ(tail.path, path_);
  EXPECT_EQ(tail.offset, static_cast<int64_t>(offsets_.back()));
  EXPECT_EQ(tail.bytes, kRecordHeaderBytes + 1);
  EXPECT_TRUE(absl::StrContains(tail.reason, "the file 65 more"))
      << tail.reason;
}

TEST_P(JournalDamageTest, AnyFlippedBitIsFound) {
  Write(/*group=*/1);
  for (size_t bit = 0; bit < 8 * bytes_.size(); ++bit) {
    std::string bytes = bytes_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    // Only of the last record nobody can tell whether it was committed.
    const bool last = bit / 8 >= offsets_.back();
    ASSERT_EQ(Outcome(bytes),
              last ? static_cast<int64_t>(log_.ops.size()) - 1 : -1)
        << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

// Within the last group it may be a crash that wrote blocks out of order.
TEST_P(JournalDamageTest, OnlyTheLastGroupCanBeTorn) {
  Write(kGroup);
  const auto count = static_cast<int64_t>(log_.ops.size());
  const int64_t last_group = (count - 1) / kGroup * kGroup;
  for (int64_t op = 0; op < count; ++op) {
    std::string bytes = bytes_;
    bytes[offsets_[static_cast<size_t>(op)] + 20] ^= 1;
    EXPECT_EQ(Outcome(bytes), op < last_group ? -1 : op) << op;
  }
}

TEST_P(JournalDamageTest, MissingRepeatedAndSwappedRecordsAreFound) {
  Write(/*group=*/1);
  for (size_t i = 0; i + 2 < offsets_.size(); ++i) {
    const std::string before = bytes_.substr(0, offsets_[i]);
    const std::string one =
        bytes_.substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
    const std::string two =
        bytes_.substr(offsets_[i + 1], offsets_[i + 2] - offsets_[i + 1]);
    const std::string after = bytes_.substr(offsets_[i + 2]);
    EXPECT_EQ(Outcome(absl::StrCat(before, two, after)), -1)
        << "op " << i << " missing";
    EXPECT_EQ(Outcome(absl::StrCat(before, one, one, two, after)), -1)
        << "repeated";
    EXPECT_EQ(Outcome(absl::StrCat(before, two, one, after)), -1) << "swapped";
  }
}

TEST_P(JournalDamageTest, RandomDamageGivesAPrefixOrDataLoss) {
  Write(kGroup);
  const RandomKey key = MakeRandomKey(3, RandomStream::kTest, /*a=*/1);
  uint64_t words = 0;
  const auto random = [&](size_t bound) {
    return RandomWord(key, words++) % bound;
  };
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = bytes_;
    const size_t begin = random(bytes.size());
    const size_t size = 1 + random(bytes.size() - begin);
    switch (random(4)) {
      case 0:
        bytes.replace(begin, size, std::string(size, '\0'));
        break;
      case 1:
        bytes.erase(begin, size);
        break;
      case 2:
        bytes.insert(random(bytes.size()), bytes.substr(begin, size));
        break;
      default:
        bytes.resize(begin);
        bytes.append(random(200), '\x5a');
    }
    Outcome(bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, JournalDamageTest,
                         testing::Values("adam", "clipped_momentum", "async"),
                         [](const auto& info) { return info.param; });

// Three files of one log: ops 0 to 3, 4 to 7, and the others.
class JournalChainTest : public testing::Test {
 protected:
  JournalChainTest() : log_(RecordSync("sgd", {{"a", 3}, {"b", 1}}, 1, 6)[0]) {
    auto writer = *JournalWriter::Open(&env_, {"j", log_.id()});
    for (const ShardOp& op : log_.ops) {
      const int64_t sequence = writer->next_sequence();
      if (sequence == 0 || sequence == 4 || sequence == 8) {
        EXPECT_TRUE(writer->StartFile(sequence / 2).ok());
      }
      EXPECT_TRUE(writer->Append(op).ok());
    }
    EXPECT_TRUE(writer->Commit().ok());
  }

  std::string Path(int64_t number) { return JournalPath("j", 0, number); }
  std::string Bytes(int64_t number) {
    return *ReadFile(env_, Path(number), 1 << 20);
  }
  void Put(int64_t number, absl::string_view bytes) {
    ASSERT_TRUE(WriteFileAtomically(env_, Path(number), bytes).ok());
  }
  void Remove(int64_t number) {
    ASSERT_TRUE(env_.RemoveFile(Path(number)).ok());
  }

  absl::StatusOr<JournalContents> Read(
      std::optional<int64_t> from = std::nullopt) {
    taken_.clear();
    return ReadJournal(env_, "j", log_.id(), from,
                       [this](int64_t sequence, const ShardOp&) {
                         taken_.push_back(sequence);
                         return absl::OkStatus();
                       });
  }
  void ExpectDataLoss(absl::string_view words,
                      std::optional<int64_t> from = std::nullopt) {
    const absl::Status status = Read(from).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), words)) << status;
  }

  FaultFileEnv env_;
  const RecordedLog log_;
  std::vector<int64_t> taken_;
};

TEST_F(JournalChainTest, FilesAreOneLogReadFromAnyOp) {
  for (int64_t from = 0; from <= 12; ++from) {
    const auto contents = Read(from);
    ASSERT_TRUE(contents.ok()) << contents.status();
    EXPECT_EQ(contents->file_count, 3);
    EXPECT_EQ(contents->first_sequence, from);
    EXPECT_EQ(contents->next_sequence, 12);
    EXPECT_EQ(static_cast<int64_t>(taken_.size()), 12 - from);
    EXPECT_TRUE(taken_.empty() || taken_.front() == from);
  }
}

TEST_F(JournalChainTest, MissingFilesAreFound) {
  Remove(2);
  ExpectDataLoss("-000000003.journal\" begins with op 8, must begin with op 4");
  EXPECT_TRUE(Read(8).ok());  // needs no older file
  Remove(1);
  EXPECT_EQ(Read()->first_sequence, 8);
  ExpectDataLoss("begins with op 8; files are missing", 7);
  Remove(3);
  ExpectDataLoss("has no files", 8);
  EXPECT_EQ(Read()->next_sequence, 0);
}

TEST_F(JournalChainTest, MissingEndIsFoundBySomebodyWhoKnowsOfIt) {
  ExpectDataLoss("ends with op 11, op 12 had been committed", 13);
}

TEST_F(JournalChainTest, DamagedEndOfAnOlderFileIsDataLoss) {
  const std::string bytes = Bytes(2);
  Put(2, bytes.substr(0, bytes.size() - 1));
  ExpectDataLoss("-000000003.journal\" goes on with op 8");
  EXPECT_EQ(taken_.size(), 7u);
  Put(2, bytes.substr(0, 100));
  ExpectDataLoss("has no whole header");
  Put(2, bytes + "x");  // Only the log's own bytes count.
  EXPECT_TRUE(Read().ok());
}

TEST_F(JournalChainTest, SwappedAndRepeatedFilesAreFound) {
  const std::string one = Bytes(1);
  const std::string two = Bytes(2);
  Put(1, two);
  Put(2, one);
  ExpectDataLoss("out of place");
  Put(1, one);
  ExpectDataLoss("out of place");
  EXPECT_EQ(taken_.size(), 4u);
}

TEST_F(JournalChainTest, RecordsOfAnotherFileAreNotTaken) {
  const std::string two = Bytes(2);
  Put(3, Bytes(3).substr(0, kFileHeaderBytes) + two.substr(kFileHeaderBytes));
  EXPECT_EQ(Read()->next_sequence, 8);
  EXPECT_EQ(Read()->torn_tail->offset, kFileHeaderBytes);
}

TEST_F(JournalChainTest, FilesOfOthersAreNamed) {
  for (const JournalId& other :
       {JournalId{"00000000000000ab", 0}, JournalId{log_.id().job_id, 1}}) {
    FaultFileEnv env;
    auto writer = *JournalWriter::Open(&env, {"j", other});
    ASSERT_TRUE(writer->StartFile(0).ok());
    const std::string bytes =
        *ReadFile(env, JournalPath("j", other.shard, 1), 1 << 20);
    Put(2, bytes);
    ExpectDataLoss(absl::StrCat("\"", Path(2), "\": it is of shard ",
                                other.shard, " of job ", other.job_id));
  }
}

TEST_F(JournalChainTest, UnreadableFileIsAnError) {
  for (int64_t call = 0;; ++call) {
    env_.FailCall({call, EIO});
    const auto contents = Read();
    const bool hit = env_.fault_hit();
    env_.ClearFaults();
    ASSERT_EQ(contents.ok(), !hit);
    if (!hit) {
      break;
    }
    EXPECT_TRUE(absl::IsDataLoss(contents.status())) << contents.status();
  }
}

TEST_F(JournalChainTest, ErrorOfWhoeverTakesAnOpNamesThePlace) {
  const auto contents = ReadJournal(
      env_, "j", log_.id(), 5,
      [](int64_t, const ShardOp&) { return absl::InternalError("no room"); });
  EXPECT_TRUE(absl::IsInternal(contents.status()));
  EXPECT_TRUE(absl::StrContains(contents.status().message(),
                                "-000000002.journal\" at byte "))
      << contents.status();
  EXPECT_TRUE(absl::StrContains(contents.status().message(), "op 5: no room"));
}

}  // namespace
}  // namespace selari
