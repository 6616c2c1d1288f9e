#include "server/log/journal_writer.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "server/log/journal_claim.h"
#include "server/log/journal_files.h"
#include "server/log/journal_format.h"
#include "server/log/journal_reader.h"
#include "server/log/journal_test_util.h"

namespace selari {
namespace {

class JournalWriterTest : public testing::Test {
 protected:
  JournalWriterTest()
      : log_(RecordSync("clipped_momentum", {{"a", 3}, {"b", 700}}, 1, 4)[0]),
        prefixes_(Fingerprints(log_)) {
    EXPECT_TRUE(CreateDirsDurably(env_, "a").ok());
  }

  absl::StatusOr<std::unique_ptr<JournalWriter>> Open(
      int64_t next_sequence = 0) {
    // Less than the larger chunk's record: buffering and growing.
    return JournalWriter::Open(&env_, {"a/j", log_.id(), next_sequence, 200});
  }
  const ShardOp& op(int64_t sequence) const {
    return log_.ops[static_cast<size_t>(sequence)];
  }
  // Ops of a journal that must be whole, or torn; that they are those of the
  // log is checked.
  int64_t ReadOps() {
    const Replayed replayed = ReplayJournal(&env_, "a/j", log_);
    EXPECT_TRUE(replayed.contents.ok()) << replayed.contents.status();
    if (!replayed.contents.ok()) {
      return -1;
    }
    const int64_t ops = replayed.contents->next_sequence;
    EXPECT_EQ(replayed.fingerprint, prefixes_[static_cast<size_t>(ops)]);
    return ops;
  }
  static void ExpectRefuses(JournalWriter* writer, const ShardOp& op) {
    const absl::Status first = writer->status();
    EXPECT_FALSE(first.ok());
    const int64_t durable = writer->durable_sequence();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(writer->Append(op), first);
      EXPECT_EQ(writer->Commit(), first);
      EXPECT_EQ(writer->StartFile(0), first);
    }
    EXPECT_EQ(writer->durable_sequence(), durable);
  }

  FaultFileEnv env_;
  const RecordedLog log_;
  const std::vector<std::string> prefixes_;
};

TEST_F(JournalWriterTest, CommitMakesAllAppendedOpsDurable) {
  auto writer = *Open();
  ASSERT_TRUE(writer->StartFile(0).ok());
  for (int64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(writer->Append(op(i)).ok());
  }
  EXPECT_EQ(writer->durable_sequence(), 0);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(writer->durable_sequence(), 5);
  ASSERT_TRUE(writer->Append(op(5)).ok());
  env_.Crash({});
  EXPECT_EQ(ReadOps(), 5);
}

TEST_F(JournalWriterTest, CommitOfNothingTouchesNoFile) {
  auto writer = *Open();
  ASSERT_TRUE(writer->StartFile(0).ok());
  env_.FailCall({});
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_FALSE(env_.fault_hit());
}

TEST_F(JournalWriterTest, ManyOpsAreOneSync) {
  auto writer = *JournalWriter::Open(&env_, {"a/j", log_.id()});
  ASSERT_TRUE(writer->StartFile(0).ok());
  for (int64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(writer->Append(op(i)).ok());
  }
  env_.FailCall({/*call=*/2, EIO});  // one write, one sync
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_FALSE(env_.fault_hit());
}

TEST_F(JournalWriterTest, FailedSyncIsNeverRepeated) {
  auto writer = *Open();
  ASSERT_TRUE(writer->StartFile(0).ok());
  ASSERT_TRUE(writer->Append(op(0)).ok());
  env_.FailCall({/*call=*/1, EIO});  // the write goes well
  EXPECT_TRUE(absl::IsDataLoss(writer->Commit()));
  EXPECT_TRUE(env_.fault_hit());
  env_.FailCall({/*call=*/0, EIO});  // would be hit by any call
  ExpectRefuses(writer.get(), op(1));
  EXPECT_FALSE(env_.fault_hit());
  env_.Crash({});
  EXPECT_EQ(ReadOps(), 0);
}

TEST_F(JournalWriterTest, FullDiskLeavesACommittedPrefix) {
  for (int64_t room = 0; room < 8000; room += 37) {
    ASSERT_TRUE(RemoveTree(env_, "a/j").ok());
    auto writer = *Open();
    ASSERT_TRUE(writer->StartFile(0).ok());
    env_.SetCapacityBytes(kFileHeaderBytes + room);
    int64_t next = 0;
    while (next < static_cast<int64_t>(log_.ops.size()) &&
           writer->Append(op(next)).ok() && writer->Commit().ok()) {
      ++next;
    }
    if (writer->status().ok()) {
      env_.ClearFaults();
      continue;  // there was room for all
    }
    EXPECT_TRUE(absl::IsResourceExhausted(writer->status()));
    env_.ClearFaults();  // room again, which is too late
    ExpectRefuses(writer.get(), op(0));
    EXPECT_EQ(writer->durable_sequence(), next);
    EXPECT_EQ(ReadOps(), next);
    EXPECT_EQ((*Open(next))->next_sequence(), next);
  }
}

// Every call fails once, in every part of a writer's life.
TEST_F(JournalWriterTest, AnyFailedCallIsKeptAndLosesNothingCommitted) {
  for (const bool crash : {false, true}) {
    for (int64_t call = 0;; ++call) {
      SCOPED_TRACE(absl::StrCat("call ", call, crash ? ", crash" : ""));
      ASSERT_TRUE(RemoveTree(env_, "a/j").ok());
      env_.FailCall({call, ENOSPC});
      int64_t durable = 0;
      auto writer = Open();
      if (writer.ok()) {
        bool good = (*writer)->StartFile(0).ok();
        for (int64_t i = 0; good && i < 9; ++i) {
          good = (i != 6 || (*writer)->StartFile(2).ok()) &&
                 (*writer)->Append(op(i)).ok() &&
                 (i % 2 == 0 || (*writer)->Commit().ok());
        }
        durable = (*writer)->durable_sequence();
        EXPECT_EQ(env_.fault_hit(), !(*writer)->status().ok());
        if (env_.fault_hit()) {
          ExpectRefuses(writer->get(), op(0));
        }
      }
      const bool hit = env_.fault_hit();
      env_.ClearFaults();
      if (crash) {
        env_.Crash({});
      }
      EXPECT_GE(ReadOps(), durable);
      if (!hit) {
        ASSERT_GT(call, 20);
        break;
      }
    }
  }
}

// Lives of a process, one after the other, on one disk. Each reads what the
// last one left, goes on, and dies, sometimes with the machine.
TEST_F(JournalWriterTest, NoCrashLosesACommittedOpOrLooksLikeDamage) {
  const auto count = static_cast<int64_t>(log_.ops.size());
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const RandomKey key = MakeRandomKey(seed, RandomStream::kTest, /*a=*/9);
    uint64_t words = 0;
    const auto random = [&](uint32_t bound) {
      return RandomWord(key, words++) % bound;
    };
    ASSERT_TRUE(RemoveTree(env_, "a/j").ok());
    int64_t durable = 0;
    for (int life = 0; life < 6; ++life) {
      const int64_t next = ReadOps();
      ASSERT_GE(next, durable);
      if (random(3) == 0) {
        env_.FailCall({random(30), ENOSPC, /*permanent=*/true});
      }
      auto writer = Open(next);
      bool good = writer.ok() && (*writer)->StartFile(0).ok();
      if (good) {
        durable = next;
      }
      for (uint32_t i = random(12); good && i > 0; --i) {
        if ((*writer)->next_sequence() == count) {
          break;
        }
        good = (*writer)->Append(op((*writer)->next_sequence())).ok();
        if (good && random(3) == 0) {
          good = (*writer)->Commit().ok();
        }
        if (good && random(8) == 0) {
          good = (*writer)->StartFile(0).ok();
        }
        durable = std::max(durable, (*writer)->durable_sequence());
      }
      env_.ClearFaults();
      if (random(2) == 0) {
        env_.Crash({random(4) == 0 ? 0 : seed * 10 + life});
      }
    }
    ASSERT_GE(ReadOps(), durable);
  }
}

TEST_F(JournalWriterTest, JobIdThatDoesNotFitIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      JournalWriter::Open(&env_, {"j", {std::string(81, 'x'), 0}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      JournalWriter::Open(&env_, {"j", {"", 0}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      JournalWriter::Open(&env_, {"j", {"x", -1}}).status()));
}

// A server that is cut off goes on writing while another takes its place.
TEST_F(JournalWriterTest, WhoHasLostTheJournalIsToldSoBehindEachSync) {
  const auto open = [this](uint64_t claim, int64_t next) {
    JournalWriter::Options options{"a/j", log_.id(), next};
    options.claim = claim;
    auto writer = JournalWriter::Open(&env_, std::move(options));
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  };
  const int32_t shard = log_.id().shard;
  const auto old = open(*ClaimJournal(env_, "a/j", shard), 0);
  ASSERT_TRUE(old->StartFile(0).ok());
  ASSERT_TRUE(old->Append(op(0)).ok());
  ASSERT_TRUE(old->Commit().ok());
  const absl::StatusOr<uint64_t> claim = ClaimJournal(env_, "a/j", shard);
  ASSERT_TRUE(old->Append(op(1)).ok());
  const absl::Status lost = old->Commit();
  EXPECT_TRUE(absl::IsAborted(lost)) << lost;
  EXPECT_EQ(ReasonOf(lost), ErrorReason::kWrongShard);
  EXPECT_EQ(old->durable_sequence(), 1);
  ExpectRefuses(old.get(), op(2));

  // The new one read op 1 before it came, and goes on there; so what the old
  // one wrote is of nobody's log.
  const auto next = open(*claim, 1);
  ASSERT_TRUE(next->StartFile(0).ok());
  ASSERT_TRUE(next->Append(op(1)).ok());
  ASSERT_TRUE(next->Append(op(2)).ok());
  ASSERT_TRUE(next->Commit().ok());
  EXPECT_EQ(ReadOps(), 3);
}

TEST_F(JournalWriterTest, AFileOfAnotherWriterIsLeftAlone) {
  const auto first = Open();
  const auto second = Open();
  ASSERT_TRUE((*first)->StartFile(0).ok());
  ASSERT_TRUE((*second)->StartFile(0).ok());
  EXPECT_EQ(ListJournalFiles(env_, "a/j", log_.id().shard)->size(), 2u);
  ASSERT_TRUE((*second)->Append(op(0)).ok());
  ASSERT_TRUE((*second)->Commit().ok());
  EXPECT_EQ(ReadOps(), 1);
}

}  // namespace
}  // namespace selari
