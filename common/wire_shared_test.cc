// Frames of a stream whose two ends share memory.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "common/float_slice.h"
#include "common/shared_memory.h"
#include "common/wire.h"
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

template <typename Message>
grpc::ByteBuffer Buffer(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// Two processes' views of one memory.
struct Shared {
  Shared()
      : lent(*SharedMemory::Lend(1 << 20)),
        borrowed(*SharedMemory::Borrow(lent->offer())) {}

  // `floats` that lie in the lender's view.
  FloatSlice Place(int64_t offset, int64_t floats, float first) const {
    float* const data = *lent->At(offset, floats * int64_t{sizeof(float)});
    for (int64_t i = 0; i < floats; ++i) {
      data[i] = first + static_cast<float>(i);
    }
    return {data, floats, lent};
  }

  const std::shared_ptr<SharedMemory> lent;
  const std::shared_ptr<SharedMemory> borrowed;
};

TEST(WireSharedTest, SharedTensorsAreNamedAndDoNotTravel) {
  const Shared shared;
  const FloatSlice first = shared.Place(4096, 30000, 1);
  ChunkPull pull{4, 2, 0, {}};
  pull.into = absl::MakeSpan(*shared.lent->At(200000, 40000), 10000);
  std::deque<ShardRequest> queue = {
      ChunkPush{1, 0, {0, 0}, 1, first},
      ChunkPush{2, 0, {0, 0}, 2, shared.Place(400000, 3, 7)},
      ChunkPush{3, 0, {0, 0}, 3, MakeFloats(2000, 5)}, pull};
  EXPECT_LT(WireBytes(queue.front(), shared.lent.get()),
            WireBytes(queue.front()) / 7);

  const EncodedFrame encoded =
      EncodeRequests(kFrameBytesMax, &queue, shared.lent.get());
  EXPECT_EQ(encoded.shared_bytes, 120000);
  EXPECT_LT(encoded.bytes.Length(), 9000u);
  const auto frame = DecodeRequests(encoded.bytes, shared.borrowed);

  ASSERT_TRUE(frame.ok()) << frame.status();
  ASSERT_EQ(frame->requests.size(), 4u);
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<ChunkPush>(frame->requests[i]).sequence, i + 1)
        << "shared or not, pushes keep their order";
  }
  const auto& push = std::get<ChunkPush>(frame->requests[0]);
  EXPECT_EQ(push.gradient.data(), *shared.borrowed->At(4096, 4));
  EXPECT_EQ(Floats(push.gradient), Floats(first));
  EXPECT_EQ(Floats(std::get<ChunkPush>(frame->requests[1]).gradient)[2], 9);
  const auto& into = std::get<ChunkPull>(frame->requests[3]).into;
  EXPECT_EQ(into.data(), *shared.borrowed->At(200000, 4));
  EXPECT_EQ(into.size(), 10000u);
}

TEST(WireSharedTest, SharedWeightsComeBackAsTheAskersOwnMemory) {
  const Shared shared;
  float* const place = *shared.borrowed->At(8192, 40000);
  place[9999] = 3;
  std::deque<ShardReply> queue = {
      ChunkValue{2, 9, {place, 10000, shared.borrowed}, {}},
      ChunkValue{3, 9, MakeFloats(2000, 1), {}}};
  const EncodedFrame encoded =
      EncodeReplies(kFrameBytesMax, &queue, shared.borrowed.get());
  EXPECT_LT(encoded.bytes.Length(), 9000u);

  const auto frame = DecodeReplies(encoded.bytes, shared.lent);

  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->shared_bytes, 40000);
  const FloatSlice& weights = std::get<ChunkValue>(frame->replies[0]).weights;
  EXPECT_EQ(weights.data(), *shared.lent->At(8192, 4));
  EXPECT_EQ(weights.data()[9999], 3);
  EXPECT_EQ(Floats(std::get<ChunkValue>(frame->replies[1]).weights)[1], 2);
}

TEST(WireSharedTest, RangesOutsideOfSharedMemoryAreRefused) {
  const Shared shared;
  const auto refusal = [](const v1::SharedRange& range, bool push,
                          const std::shared_ptr<SharedMemory>& memory) {
    v1::StreamParametersRequest message;
    if (push) {
      message.add_pushes()->set_sequence(1);
      *message.mutable_pushes(0)->mutable_gradient_at() = range;
    } else {
      *message.add_pulls()->mutable_weights_to() = range;
    }
    const auto frame = DecodeRequests(Buffer(message), memory);
    EXPECT_TRUE(frame.ok() && frame->requests.empty());
    return std::string(frame->refused.at(0).status.message());
  };
  v1::SharedRange range;
  range.set_offset(1 << 20);
  range.set_bytes(4);
  EXPECT_EQ(refusal(range, true, shared.borrowed),
            "gradient_at: bytes [1048576, +4) are no floats in the 1048576 "
            "bytes of shared memory");
  range.set_offset(4098);
  EXPECT_EQ(refusal(range, false, shared.borrowed),
            "weights_to: bytes [4098, +4) are no floats in the 1048576 bytes "
            "of shared memory");
  EXPECT_EQ(refusal(range, true, nullptr),
            "gradient_at is set, but this stream shares no memory");
  v1::StreamParametersRequest both;
  both.add_pushes()->set_sequence(1);
  both.mutable_pushes(0)->set_gradient(std::string(8, 0));
  both.mutable_pushes(0)->mutable_gradient_at()->set_offset(4096);
  both.mutable_pushes(0)->mutable_gradient_at()->set_bytes(8);
  const auto frame = DecodeRequests(Buffer(both), shared.borrowed);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->refused.at(0).status.message(),
            "gradient_at is set beside 8 bytes in the message");
  v1::StreamParametersResponse reply;
  *reply.add_values()->mutable_weights_at() = range;
  EXPECT_EQ(DecodeReplies(Buffer(reply), shared.lent).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace selari
