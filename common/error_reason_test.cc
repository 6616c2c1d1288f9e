#include "common/error_reason.h"

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(ErrorReasonTest, StatusCarriesReasonDelayAndMetadata) {
  absl::Status status =
      WithReason(absl::ResourceExhaustedError("queue of shard 3 is full"),
                 ErrorReason::kQueueFull, 1250);
  SetReasonMetadata("owner", "host:1", &status);

  EXPECT_EQ(ReasonOf(status), ErrorReason::kQueueFull);
  EXPECT_EQ(RetryAfterMs(status), 1250);
  EXPECT_EQ(ReasonMetadata("owner", status), "host:1");
  EXPECT_EQ(ReasonMetadata("other", status), "");
  EXPECT_EQ(status.message(), "queue of shard 3 is full");
}

TEST(ErrorReasonTest, StatusWithoutReasonHasNone) {
  absl::Status status = absl::NotFoundError("x");
  SetReasonMetadata("owner", "host:1", &status);

  EXPECT_EQ(ReasonOf(status), ErrorReason::kUnspecified);
  EXPECT_EQ(RetryAfterMs(status), 0);
  EXPECT_EQ(ReasonMetadata("owner", status), "");
}

TEST(ErrorReasonTest, OkStaysOk) {
  EXPECT_TRUE(WithReason(absl::OkStatus(), ErrorReason::kWrongJob, 5).ok());
}

TEST(ErrorReasonTest, DamagedPayloadCountsAsNone) {
  absl::Status status = absl::AbortedError("x");
  status.SetPayload("type.googleapis.com/google.rpc.ErrorInfo",
                    absl::Cord("\xff\xff\xff"));
  status.SetPayload("type.googleapis.com/google.rpc.RetryInfo",
                    absl::Cord("\x0a\x7f"));

  EXPECT_EQ(ReasonOf(status), ErrorReason::kUnspecified);
  EXPECT_EQ(RetryAfterMs(status), 0);
}

TEST(ErrorReasonTest, ReasonOfAnotherDomainCountsAsNone) {
  absl::Status status = absl::AbortedError("x");
  status.SetPayload("type.googleapis.com/google.rpc.ErrorInfo",
                    absl::Cord("\x0a\x09WRONG_JOB\x12\x05other"));

  EXPECT_EQ(ReasonOf(status), ErrorReason::kUnspecified);
}

TEST(ErrorReasonTest, NamesAndNumbersAgree) {
  EXPECT_EQ(ReasonName(ErrorReason::kInstructionSet), "INSTRUCTION_SET");
  EXPECT_EQ(ReasonFromName("STALE_INCARNATION"),
            ErrorReason::kStaleIncarnation);
  EXPECT_EQ(ReasonFromName("?"), ErrorReason::kUnspecified);
  EXPECT_EQ(ReasonFromNumber(9), ErrorReason::kJobStopped);
  EXPECT_EQ(ReasonFromNumber(-1), ErrorReason::kUnspecified);
  EXPECT_EQ(ReasonFromNumber(1000), ErrorReason::kUnspecified);
}

}  // namespace
}  // namespace selari
