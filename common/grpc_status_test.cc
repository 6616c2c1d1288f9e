#include "common/grpc_status.h"

#include <string>

#include "common/error_reason.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(GrpcStatusTest, CodeMessageAndReasonSurviveTheRoundTrip) {
  const absl::Status status =
      WithReason(absl::FailedPreconditionError("job is a, not b"),
                 ErrorReason::kWrongJob, 20);

  const absl::Status back = FromGrpcStatus(ToGrpcStatus(status));

  EXPECT_EQ(back, status);
  EXPECT_EQ(ReasonOf(back), ErrorReason::kWrongJob);
  EXPECT_EQ(RetryAfterMs(back), 20);
}

TEST(GrpcStatusTest, DetailsAreAGoogleRpcStatus) {
  const grpc::Status status = ToGrpcStatus(
      WithReason(absl::NotFoundError("t"), ErrorReason::kWrongJob));

  // code: 5, message: "t", details: [Any{type_url, ErrorInfo}].
  const std::string info = "\x0a\x09WRONG_JOB\x12\x06selari";
  const std::string url = "type.googleapis.com/google.rpc.ErrorInfo";
  const std::string any = "\x0a\x28" + url + "\x12\x13" + info;
  EXPECT_EQ(status.error_details(), "\x08\x05\x12\x01t\x1a\x3f" + any);
}

TEST(GrpcStatusTest, OkHasNoDetails) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
}

TEST(GrpcStatusTest, DamagedDetailsAreLeftOut) {
  const absl::Status status = FromGrpcStatus(
      grpc::Status(grpc::StatusCode::ABORTED, "x", "\xff\xff\xff"));

  EXPECT_EQ(status, absl::AbortedError("x"));
}

TEST(GrpcStatusTest, UnknownCodeBecomesUnknown) {
  // No code of gRPC's, yet a value that its enumeration can hold.
  const absl::Status status =
      FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(20), "x"));

  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
}

TEST(GrpcStatusTest, WhatGrpcSaysOfAConnectionIsReadable) {
  const auto message = [](grpc::StatusCode code, const char* text) {
    return std::string(FromGrpcStatus(grpc::Status(code, text)).message());
  };
  EXPECT_EQ(message(grpc::StatusCode::UNAVAILABLE,
                    "failed to connect to all addresses; last error: UNKNOWN: "
                    "ipv4:127.0.0.1:1: Failed to connect to remote host: "
                    "Connection refused"),
            "no connection: Connection refused; check the address, and that "
            "it was started");
  EXPECT_EQ(message(grpc::StatusCode::UNAVAILABLE,
                    "DNS resolution failed for x:1: C-ares status is not "
                    "ARES_SUCCESS qtype=AAAA name=x is_balancer=0: Domain name "
                    "not found"),
            "the host's name was not found: Domain name not found; check the "
            "address");
  EXPECT_EQ(message(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"),
            "no answer in time; check the address, and that it runs");
  EXPECT_EQ(message(grpc::StatusCode::UNAVAILABLE, "shard 3 waits: busy"),
            "shard 3 waits: busy");
}

TEST(GrpcStatusTest, LongMessageIsCut) {
  const grpc::Status status =
      ToGrpcStatus(absl::InternalError(std::string(5000, 'x')));

  EXPECT_EQ(status.error_message().size(), 1024u);
}

}  // namespace
}  // namespace selari
