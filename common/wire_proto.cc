#include "common/wire_proto.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "common/float_buffer.h"
#include "common/float_slice.h"
#include "common/status.h"

namespace selari {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tensor bytes are little-endian and sent as they lie in memory");

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
// No optimizer has more than a few rounds for one step.
constexpr int64_t kRoundMax = 63;
// A double for each of two sums over a million tensors: larger than a frame.
constexpr int kSumCountMax = 1 << 21;
constexpr size_t kMessageCharsMax = 1024;

absl::Status CheckRange(const char* field, int64_t value, int64_t low,
                        int64_t high) {
  if (value >= low && value <= high) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be in [", low, ", ",
                   high == kInt64Max ? "2^63" : absl::StrCat(high + 1), ")"));
}

absl::StatusOr<FloatSlice> ToFloats(const char* field, const std::string& bytes,
                                    const std::shared_ptr<const void>& owner) {
  SELARI_RETURN_IF_ERROR(
      CheckTensorBytes(field, static_cast<int64_t>(bytes.size())));
  const auto size = static_cast<int64_t>(bytes.size() / sizeof(float));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0) {
    return FloatSlice(reinterpret_cast<const float*>(bytes.data()), size,
                      owner);
  }
  const std::shared_ptr<FloatBuffer> copy = FloatBuffer::Allocate(size);
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  return FloatSlice(copy->data(), size, copy);
}

absl::Status CheckSums(const char* field, int count) {
  return CheckRange(field, count, 1, kSumCountMax);
}

}  // namespace

absl::Status CheckTensorBytes(const char* field, int64_t bytes) {
  if (bytes > 0 && bytes % int64_t{sizeof(float)} == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", bytes,
                   " bytes, must be a positive multiple of ", sizeof(float)));
}

absl::StatusOr<ChunkPush> FromProto(const v1::ChunkPush& message,
                                    const std::shared_ptr<const void>& owner) {
  SELARI_ASSIGN_OR_RETURN(ChunkPush push, FromProtoWithoutGradient(message));
  SELARI_ASSIGN_OR_RETURN(push.gradient,
                          ToFloats("gradient", message.gradient(), owner));
  return push;
}

absl::StatusOr<ChunkPush> FromProtoWithoutGradient(
    const v1::ChunkPush& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("chunk", message.chunk(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(CheckRange("step", message.step(), 0, kInt64Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("node.level", message.node().level(), 0, 31));
  SELARI_RETURN_IF_ERROR(
      CheckRange("node.index", message.node().index(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("sequence", message.sequence(), 1, kInt64Max));
  ChunkPush push;
  push.chunk = message.chunk();
  push.step = message.step();
  push.node = {message.node().level(), message.node().index()};
  push.sequence = message.sequence();
  // One that this program does not know is for the shard to refuse.
  push.encoding = static_cast<GradientEncoding>(message.encoding());
  return push;
}

absl::StatusOr<ChunkValue> FromProtoWithoutWeights(
    const v1::ChunkValue& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("chunk", message.chunk(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("version", message.version(), 0, kInt64Max));
  ChunkValue value;
  value.chunk = message.chunk();
  value.version = message.version();
  return value;
}

absl::StatusOr<ChunkPull> FromProto(const v1::ChunkPull& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("chunk", message.chunk(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("min_version", message.min_version(), 0, kInt64Max));
  SELARI_RETURN_IF_ERROR(CheckRange("clock", message.clock(), 0, kInt64Max));
  ChunkPull pull;
  pull.chunk = message.chunk();
  pull.min_version = message.min_version();
  pull.clock = message.clock();
  pull.exact = message.exact();
  return pull;
}

absl::StatusOr<ReductionTotals> FromProto(const v1::ReductionTotals& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("step", message.step(), 0, kInt64Max));
  SELARI_RETURN_IF_ERROR(CheckRange("round", message.round(), 0, kRoundMax));
  SELARI_RETURN_IF_ERROR(CheckRange("shard", message.shard(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(CheckSums("size of totals", message.totals_size()));
  return ReductionTotals{message.step(),
                         message.round(),
                         message.shard(),
                         {message.totals().begin(), message.totals().end()}};
}

absl::StatusOr<PushAck> FromProto(const v1::PushAck& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("chunk", message.chunk(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(CheckRange("step", message.step(), 0, kInt64Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("sequence", message.sequence(), 1, kInt64Max));
  SELARI_RETURN_IF_ERROR(
      CheckRange("version", message.version(), 0, kInt64Max));
  return PushAck{message.chunk(), message.step(), message.sequence(),
                 message.version(), message.repeated_push()};
}

absl::StatusOr<ReductionPartials> FromProto(
    const v1::ReductionPartials& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("step", message.step(), 0, kInt64Max));
  SELARI_RETURN_IF_ERROR(CheckRange("round", message.round(), 0, kRoundMax));
  SELARI_RETURN_IF_ERROR(CheckRange("chunk", message.chunk(), 0, kInt32Max));
  SELARI_RETURN_IF_ERROR(CheckSums("size of sums", message.sums_size()));
  return ReductionPartials{message.step(),
                           message.round(),
                           message.chunk(),
                           {message.sums().begin(), message.sums().end()}};
}

absl::StatusOr<RequestError> FromProto(const v1::RequestError& message) {
  SELARI_RETURN_IF_ERROR(CheckRange("code", message.code(), 1, 16));
  RequestError error;
  error.chunk = message.chunk();
  error.step = message.step();
  error.sequence = message.sequence();
  error.reason = ReasonFromNumber(message.reason());
  error.retry_after_ms = message.retry_after_ms();
  error.status =
      WithReason(absl::Status(static_cast<absl::StatusCode>(message.code()),
                              message.message()),
                 error.reason, error.retry_after_ms);
  return error;
}

SharedMemoryOffer FromProto(const v1::SharedMemory& message) {
  return {message.process_id(), message.file(), message.bytes(),
          message.cookie()};
}

v1::SharedMemory ToProto(const SharedMemoryOffer& offer) {
  v1::SharedMemory message;
  message.set_process_id(offer.process_id);
  message.set_file(offer.descriptor);
  message.set_bytes(offer.bytes);
  message.set_cookie(offer.cookie);
  return message;
}

v1::ChunkPush ToProtoWithoutGradient(const ChunkPush& push) {
  v1::ChunkPush message;
  message.set_chunk(push.chunk);
  message.set_step(push.step);
  message.mutable_node()->set_level(push.node.level);
  message.mutable_node()->set_index(push.node.index);
  message.set_sequence(push.sequence);
  message.set_encoding(static_cast<v1::GradientEncoding>(push.encoding));
  return message;
}

v1::ChunkValue ToProtoWithoutWeights(const ChunkValue& value) {
  v1::ChunkValue message;
  message.set_chunk(value.chunk);
  message.set_version(value.version);
  return message;
}

v1::ChunkPull ToProto(const ChunkPull& pull) {
  v1::ChunkPull message;
  message.set_chunk(pull.chunk);
  message.set_min_version(pull.min_version);
  message.set_clock(pull.clock);
  message.set_exact(pull.exact);
  return message;
}

v1::ReductionTotals ToProto(const ReductionTotals& totals) {
  v1::ReductionTotals message;
  message.set_step(totals.step);
  message.set_round(totals.round);
  message.set_shard(totals.shard);
  message.mutable_totals()->Assign(totals.totals.begin(), totals.totals.end());
  return message;
}

v1::PushAck ToProto(const PushAck& ack) {
  v1::PushAck message;
  message.set_chunk(ack.chunk);
  message.set_step(ack.step);
  message.set_sequence(ack.sequence);
  message.set_version(ack.version);
  message.set_repeated_push(ack.repeated);
  message.set_guarantee(ack.journaled ? v1::GUARANTEE_JOURNALED
                                      : v1::GUARANTEE_CHECKPOINTED);
  return message;
}

v1::ReductionPartials ToProto(const ReductionPartials& partials) {
  v1::ReductionPartials message;
  message.set_step(partials.step);
  message.set_round(partials.round);
  message.set_chunk(partials.chunk);
  message.mutable_sums()->Assign(partials.sums.begin(), partials.sums.end());
  return message;
}

v1::RequestError ToProto(const RequestError& error) {
  v1::RequestError message;
  message.set_chunk(error.chunk);
  message.set_step(error.step);
  message.set_sequence(error.sequence);
  message.set_code(static_cast<int32_t>(error.status.code()));
  message.set_reason(static_cast<v1::ErrorReason>(error.reason));
  message.set_message(
      std::string(error.status.message().substr(0, kMessageCharsMax)));
  message.set_retry_after_ms(error.retry_after_ms);
  return message;
}

}  // namespace selari
