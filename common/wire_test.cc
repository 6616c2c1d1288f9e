#include "common/wire.h"

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/float_buffer.h"
#include "common/float_slice.h"
#include "common/wire_proto.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "selari/v1/parameter_service.pb.h"

namespace selari {
namespace {

FloatSlice MakeFloats(int64_t size, float first) {
  auto buffer = FloatBuffer::Allocate(size);
  for (int64_t i = 0; i < size; ++i) {
    buffer->data()[i] = first + static_cast<float>(i);
  }
  return {buffer->data(), size, buffer};
}

std::vector<float> Floats(const FloatSlice& slice) {
  std::vector<float> floats(static_cast<size_t>(slice.size()));
  slice.Copy(0, slice.size(), floats.data());
  return floats;
}

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

template <typename Message>
grpc::ByteBuffer Buffer(const Message& message) {
  return Buffer(message.SerializeAsString());
}

std::deque<ShardRequest> SomeRequests() {
  return {
      ChunkPush{7, 41, {2, 3}, 9, MakeFloats(2000, 0.5f)}, ChunkPull{8, 42, 40},
      ReductionTotals{41, 1, 5, {0.25, -3}},
      ChunkPush{9, 41, {0, 1}, 10, MakeFloats(3, 7), GradientEncoding::kTopK}};
}

TEST(WireTest, RequestsAreAPlainProtobufMessage) {
  std::deque<ShardRequest> queue = SomeRequests();
  const std::string bytes = Bytes(EncodeRequests(kFrameBytesMax, &queue).bytes);

  v1::StreamParametersRequest message;
  ASSERT_TRUE(message.ParseFromString(bytes));

  EXPECT_TRUE(queue.empty());
  ASSERT_EQ(message.pushes_size(), 2);
  EXPECT_EQ(message.pushes(0).chunk(), 7);
  EXPECT_EQ(message.pushes(0).step(), 41);
  EXPECT_EQ(message.pushes(0).node().level(), 2);
  EXPECT_EQ(message.pushes(0).node().index(), 3);
  EXPECT_EQ(message.pushes(0).sequence(), 9);
  ASSERT_EQ(message.pushes(0).gradient().size(), 8000u);
  float last = 0;
  std::memcpy(&last, message.pushes(0).gradient().data() + 7996, 4);
  EXPECT_EQ(last, 1999.5f);
  EXPECT_EQ(message.pushes(0).encoding(), v1::GRADIENT_ENCODING_UNSPECIFIED);
  EXPECT_EQ(message.pushes(1).gradient().size(), 12u);
  EXPECT_EQ(message.pushes(1).encoding(), v1::GRADIENT_ENCODING_TOP_K);
  ASSERT_EQ(message.pulls_size(), 1);
  EXPECT_EQ(message.pulls(0).min_version(), 42);
  ASSERT_EQ(message.totals_size(), 1);
  EXPECT_EQ(message.totals(0).totals(1), -3);
}

TEST(WireTest, RequestsSurviveTheRoundTrip) {
  std::deque<ShardRequest> queue = SomeRequests();

  const auto frame =
      DecodeRequests(EncodeRequests(kFrameBytesMax, &queue).bytes);

  ASSERT_TRUE(frame.ok()) << frame.status();
  ASSERT_EQ(frame->requests.size(), 4u);
  const auto& push = std::get<ChunkPush>(frame->requests[1]);
  EXPECT_EQ(push.chunk, 9);
  EXPECT_EQ(push.gradient.size(), 3);
  EXPECT_EQ(Floats(push.gradient)[2], 9.0f);
  const auto& pull = std::get<ChunkPull>(frame->requests[2]);
  EXPECT_EQ(pull.chunk, 8);
  EXPECT_EQ(pull.clock, 40);
  const auto& totals = std::get<ReductionTotals>(frame->requests[3]);
  EXPECT_EQ(totals.shard, 5);
  EXPECT_EQ(totals.totals, (std::vector<double>{0.25, -3}));
}

TEST(WireTest, MessageOfAnotherClientIsUnderstood) {
  v1::StreamParametersRequest message;
  v1::ChunkPush* push = message.add_pushes();
  push->set_chunk(1);
  push->set_sequence(1);
  push->set_gradient(std::string(8, '\0'));

  const auto frame = DecodeRequests(Buffer(message));

  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(std::get<ChunkPush>(frame->requests.at(0)).gradient.size(), 2);
}

TEST(WireTest, RepliesSurviveTheRoundTrip) {
  RequestError error;
  error.chunk = 5;
  error.step = 6;
  error.sequence = 7;
  error.status = absl::ResourceExhaustedError("full");
  error.reason = ErrorReason::kQueueFull;
  error.retry_after_ms = 30;
  std::deque<ShardReply> queue = {PushAck{1, 2, 3, 4, true},
                                  ChunkValue{2, 9, MakeFloats(1024, 1)},
                                  ReductionPartials{2, 0, 3, {1.5}}, error};

  const auto frame = DecodeReplies(EncodeReplies(kFrameBytesMax, &queue).bytes);

  ASSERT_TRUE(frame.ok()) << frame.status();
  ASSERT_EQ(frame->replies.size(), 4u);
  EXPECT_TRUE(std::get<PushAck>(frame->replies[0]).repeated);
  EXPECT_EQ(Floats(std::get<ChunkValue>(frame->replies[1]).weights)[1023],
            1024);
  EXPECT_EQ(std::get<ReductionPartials>(frame->replies[2]).sums.at(0), 1.5);
  const auto& got = std::get<RequestError>(frame->replies[3]);
  EXPECT_EQ(got.status.message(), "full");
  EXPECT_EQ(ReasonOf(got.status), ErrorReason::kQueueFull);
  EXPECT_EQ(got.retry_after_ms, 30);
}

TEST(WireTest, HellosSurviveTheRoundTrip) {
  const auto hello = DecodeRequests(EncodeHello({"job", {3, 99}, 2}));
  const auto reply = DecodeReplies(EncodeHelloReply({77, {1, 3}, 4096}));

  ASSERT_TRUE(hello.ok() && hello->hello.has_value());
  EXPECT_EQ(hello->hello->job_id, "job");
  EXPECT_EQ(hello->hello->worker, (WorkerIdentity{3, 99}));
  ASSERT_TRUE(reply.ok() && reply->hello.has_value());
  EXPECT_EQ(reply->hello->server_incarnation, 77u);
  EXPECT_EQ(reply->hello->shards, (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(reply->hello->window_bytes, 4096);
}

TEST(WireTest, OffersOfSharedMemorySurviveTheRoundTrip) {
  const auto hello = DecodeRequests(EncodeHello(
      {"job", {3, 99}, 2, SharedMemoryOffer{12, 5, 8192, "cookie"}}));
  ASSERT_TRUE(hello.ok() && hello->hello.has_value());
  ASSERT_TRUE(hello->hello->shared_memory.has_value());
  EXPECT_EQ(hello->hello->shared_memory->process_id, 12);
  EXPECT_EQ(hello->hello->shared_memory->descriptor, 5);
  EXPECT_EQ(hello->hello->shared_memory->bytes, 8192);
  EXPECT_EQ(hello->hello->shared_memory->cookie, "cookie");
  const auto reply = DecodeReplies(EncodeHelloReply({77, {1, 3}, 4096, true}));
  ASSERT_TRUE(reply.ok() && reply->hello.has_value());
  EXPECT_TRUE(reply->hello->shared_memory_opened);
}

TEST(WireTest, HeartbeatAsksForNothing) {
  const auto frame = DecodeRequests(EncodeHeartbeat());
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_FALSE(frame->hello.has_value());
  EXPECT_TRUE(frame->requests.empty());
}

TEST(WireTest, TensorsAreSentByReferenceAndReleased) {
  FloatSlice floats = MakeFloats(4096, 0);
  const std::weak_ptr<const void> alive = floats.owner();
  std::deque<ShardReply> queue = {ChunkValue{0, 1, floats}};
  grpc::ByteBuffer frame = EncodeReplies(kFrameBytesMax, &queue).bytes;
  const float* data = floats.data();
  floats = {};

  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(frame.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(reinterpret_cast<const float*>(slices[1].begin()), data);

  EXPECT_FALSE(alive.expired());
  slices.clear();
  frame.Clear();
  EXPECT_TRUE(alive.expired());
}

TEST(WireTest, FramesAreCutAtTheLimitButNeverEmpty) {
  std::deque<ShardReply> queue;
  for (int i = 0; i < 5; ++i) {
    queue.push_back(ChunkValue{i, 1, MakeFloats(1000, 0)});
  }

  EncodeReplies(9000, &queue);
  EXPECT_EQ(queue.size(), 3u);
  EncodeReplies(1, &queue);
  EXPECT_EQ(queue.size(), 2u);
}

TEST(WireTest, ImpossiblePushIsRefusedAndTheRestTaken) {
  v1::StreamParametersRequest message;
  for (const char* gradient : {"", "12345", "1234"}) {
    v1::ChunkPush* push = message.add_pushes();
    push->set_chunk(4);
    push->set_step(5);
    push->set_sequence(6);
    push->set_gradient(gradient);
  }
  message.add_pulls()->set_min_version(-1);

  const auto frame = DecodeRequests(Buffer(message));

  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->requests.size(), 1u);
  ASSERT_EQ(frame->refused.size(), 3u);
  EXPECT_EQ(frame->refused[1].chunk, 4);
  EXPECT_EQ(frame->refused[1].sequence, 6);
  EXPECT_EQ(frame->refused[1].reason, ErrorReason::kShapeMismatch);
  EXPECT_EQ(frame->refused[1].status.message(),
            "gradient has 5 bytes, must be a positive multiple of 4");
  EXPECT_EQ(frame->refused[2].status.message(),
            "min_version is -1, must be in [0, 2^63)");
}

TEST(WireTest, ImpossibleNumbersAreRefused) {
  v1::ChunkPush good;
  good.set_sequence(1);
  good.set_gradient("1234");
  ASSERT_TRUE(FromProto(good, nullptr).ok());
  std::vector<v1::ChunkPush> bad(5, good);
  bad[0].set_chunk(-1);
  bad[1].set_step(-1);
  bad[2].set_sequence(0);
  bad[3].mutable_node()->set_level(32);
  bad[4].mutable_node()->set_index(-1);

  for (const v1::ChunkPush& push : bad) {
    EXPECT_EQ(FromProto(push, nullptr).status().code(),
              absl::StatusCode::kInvalidArgument)
        << push.ShortDebugString();
  }
}

TEST(WireTest, BytesThatAreNoMessageAreRefused) {
  v1::StreamParametersRequest bad_totals;
  bad_totals.add_totals()->set_step(1);  // no totals
  v1::StreamParametersResponse bad_error;
  bad_error.add_errors()->set_code(17);

  for (const grpc::ByteBuffer& buffer :
       {grpc::ByteBuffer(), Buffer(std::string("\x12\x7f\x00", 3)),
        Buffer(bad_totals)}) {
    EXPECT_EQ(DecodeRequests(buffer).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(DecodeReplies(Buffer(bad_error)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(WireTest, TooManyItemsAreRefused) {
  v1::StreamParametersRequest message;
  for (int i = 0; i <= 1 << 16; ++i) {
    message.add_pulls();
  }

  EXPECT_EQ(DecodeRequests(Buffer(message)).status().message(),
            "a frame has 65537 items, at most 65536");

  v1::StreamParametersRequest pushes;
  for (int i = 0; i <= 1 << 16; ++i) {
    pushes.add_pushes();
  }
  EXPECT_EQ(DecodeRequests(Buffer(pushes)).status().message(),
            "a frame has over 65536 items");
}

// Cut into slices of 1 to `size_max` bytes.
grpc::ByteBuffer Cut(const std::string& bytes, size_t size_max,
                     std::mt19937* random) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t size = 1 + (*random)() % size_max;
    slices.emplace_back(bytes.substr(begin, size));
    begin += size;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string RandomBytes(size_t size, std::mt19937* random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>((*random)());
  }
  return bytes;
}

// What protobuf reads out of any bytes is what we read, however they are cut
// and whatever fields of a later version they have.
TEST(WireTest, ReadsWhatProtobufReads) {
  const unsigned seed = 20;
  std::mt19937 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    std::string bytes;
    for (int part = 0; part < 3; ++part) {
      v1::StreamParametersRequest message;
      for (unsigned i = random() % 4; i > 0; --i) {
        v1::ChunkPush* const push = message.add_pushes();
        push->set_chunk(static_cast<int32_t>(random() % 1000));
        push->set_sequence(1 + random() % 1000);
        push->mutable_node()->set_index(static_cast<int32_t>(random() % 9));
        push->set_gradient(RandomBytes(4 * (1 + random() % 900), &random));
        push->GetReflection()->MutableUnknownFields(push)->AddVarint(77, 3);
      }
      for (unsigned i = random() % 4; i > 0; --i) {
        message.add_pulls()->set_min_version(random() % 50);
      }
      auto* const unknown =
          message.GetReflection()->MutableUnknownFields(&message);
      unknown->AddFixed32(99, 5);
      unknown->AddFixed64(100, 6);
      unknown->AddLengthDelimited(101, "later");
      bytes += message.SerializeAsString();
    }
    v1::StreamParametersRequest expected;
    ASSERT_TRUE(expected.ParseFromString(bytes));

    const auto frame = DecodeRequests(Cut(bytes, 1 + random() % 700, &random));

    ASSERT_TRUE(frame.ok()) << frame.status();
    ASSERT_EQ(
        frame->requests.size(),
        static_cast<size_t>(expected.pushes_size() + expected.pulls_size()));
    for (int i = 0; i < expected.pushes_size(); ++i) {
      const v1::ChunkPush& push = expected.pushes(i);
      const auto& got = std::get<ChunkPush>(frame->requests[i]);
      EXPECT_EQ(got.chunk, push.chunk());
      EXPECT_EQ(got.sequence, push.sequence());
      EXPECT_EQ(got.node.index, push.node().index());
      const std::vector<float> floats = Floats(got.gradient);
      ASSERT_EQ(floats.size() * sizeof(float), push.gradient().size());
      EXPECT_EQ(std::memcmp(floats.data(), push.gradient().data(),
                            push.gradient().size()),
                0);
    }
  }
}

// No tensor byte is copied on arrival.
TEST(WireTest, ReceivedTensorsLieInTheSlices) {
  std::deque<ShardRequest> queue = {
      ChunkPush{7, 41, {2, 3}, 9, MakeFloats(5000, 0.5f)}};
  const std::string bytes = Bytes(EncodeRequests(kFrameBytesMax, &queue).bytes);
  std::deque<std::string> memory;
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size(); begin += 3001) {
    const std::string& part = memory.emplace_back(bytes.substr(begin, 3001));
    slices.emplace_back(part.data(), part.size(), grpc::Slice::STATIC_SLICE);
  }

  const auto frame =
      DecodeRequests(grpc::ByteBuffer(slices.data(), slices.size()));

  ASSERT_TRUE(frame.ok()) << frame.status();
  const FloatSlice& gradient =
      std::get<ChunkPush>(frame->requests.at(0)).gradient;
  ASSERT_EQ(gradient.pieces().size(), memory.size());
  int64_t begin = 0;
  for (size_t i = 0; i < memory.size(); ++i) {
    const FloatSlice::Piece& piece = gradient.pieces()[i];
    EXPECT_EQ(piece.data + (piece.end_byte - begin),
              memory[i].data() + memory[i].size());
    begin = piece.end_byte;
  }
}

// Fields of one push in two parts and in any order: protobuf merges them.
TEST(WireTest, TheLastOfTwoGradientsCounts) {
  v1::ChunkPush first;
  first.set_gradient(std::string(40, 'x'));
  first.mutable_node()->set_level(3);
  v1::ChunkPush second;
  second.set_gradient("12345678");
  second.set_sequence(5);
  second.mutable_node()->set_index(2);
  const std::string item =
      first.SerializeAsString() + second.SerializeAsString();
  std::string bytes = {'\x12', static_cast<char>(item.size())};
  bytes += item;
  std::mt19937 random(1);

  const auto frame = DecodeRequests(Cut(bytes, 3, &random));

  ASSERT_TRUE(frame.ok()) << frame.status();
  const auto& push = std::get<ChunkPush>(frame->requests.at(0));
  EXPECT_EQ(push.node.level, 3);
  EXPECT_EQ(push.node.index, 2);
  EXPECT_EQ(push.sequence, 5);
  ASSERT_EQ(push.gradient.size(), 2);
  // The bits are compared on purpose.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  EXPECT_EQ(std::memcmp(Floats(push.gradient).data(), "12345678", 8), 0);
}

TEST(WireTest, TruncatedFramesAreRefused) {
  std::deque<ShardRequest> queue = SomeRequests();
  const std::string bytes = Bytes(EncodeRequests(kFrameBytesMax, &queue).bytes);
  std::mt19937 random(2);
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); size += 1 + random() % 40) {
    v1::StreamParametersRequest message;
    const bool expected = message.ParseFromString(bytes.substr(0, size));
    const grpc::ByteBuffer cut = size == 0
                                     ? Buffer(std::string())
                                     : Cut(bytes.substr(0, size), 200, &random);
    EXPECT_EQ(DecodeRequests(cut).ok(), expected) << size;
    refused += expected ? 0 : 1;
  }
  EXPECT_GT(refused, 50);
}

TEST(WireTest, WhatCameFromTheWireCanBeSentOn) {
  std::deque<ShardReply> queue = {ChunkValue{2, 9, MakeFloats(5000, 1)}};
  const std::string bytes = Bytes(EncodeReplies(kFrameBytesMax, &queue).bytes);
  std::mt19937 random(3);
  const auto frame = DecodeReplies(Cut(bytes, 3000, &random));
  ASSERT_TRUE(frame.ok()) << frame.status();

  queue = {frame->replies[0]};
  EXPECT_EQ(Bytes(EncodeReplies(kFrameBytesMax, &queue).bytes), bytes);
}

}  // namespace
}  // namespace selari
