#include "common/wire.h"

#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "common/check.h"
#include "common/frame_parts.h"
#include "common/status.h"
#include "common/wire_proto.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/slice.h"
#include "selari/v1/parameter_service.pb.h"

namespace selari {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Tag, lengths and numbers of any item: an upper bound.
constexpr int64_t kItemBytes = 96;
constexpr int kItemCountMax = 1 << 16;
// Below this, copying costs less than one more slice and its reference.
constexpr int64_t kReferenceBytesMin = 1024;

// Collects a message as slices: small parts are copied together, tensors stay
// where they are.
class SliceWriter {
 public:
  void Append(const std::string& bytes) { pending_ += bytes; }

  void AppendLengthTag(int field, int64_t length) {
    AppendVarint(WireFormatLite::MakeTag(
        field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    AppendVarint(static_cast<uint64_t>(length));
  }

  void Append(const FloatSlice& floats) {
    if (floats.data() != nullptr || floats.size() == 0) {
      Append(reinterpret_cast<const char*>(floats.data()), floats.size_bytes(),
             floats.owner());
      return;
    }
    int64_t begin = 0;
    for (const FloatSlice::Piece& piece : floats.pieces()) {
      Append(piece.data, piece.end_byte - begin, floats.owner());
      begin = piece.end_byte;
    }
  }

  grpc::ByteBuffer Finish() {
    FlushPending();
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  void Append(const char* data, int64_t bytes,
              const std::shared_ptr<const void>& owner) {
    if (bytes < kReferenceBytesMin) {
      pending_.append(data == nullptr ? "" : data, static_cast<size_t>(bytes));
      return;
    }
    FlushPending();
    using Owner = std::shared_ptr<const void>;
    slices_.emplace_back(
        const_cast<char*>(data), static_cast<size_t>(bytes),
        [](void* held) { delete static_cast<Owner*>(held); }, new Owner(owner));
  }

  void AppendVarint(uint64_t value) {
    uint8_t bytes[10];
    const uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
    pending_.append(reinterpret_cast<const char*>(bytes), end - bytes);
  }

  void FlushPending() {
    if (!pending_.empty()) {
      slices_.emplace_back(pending_);
      pending_.clear();
    }
  }

  std::string pending_;
  std::vector<grpc::Slice> slices_;
};

// One item of a repeated message field `item_field` whose last field,
// `floats_field`, is tensor bytes.
void AppendWithFloats(int item_field, const std::string& item, int floats_field,
                      const FloatSlice& floats, SliceWriter* writer) {
  const int64_t float_bytes = floats.size_bytes();
  const int64_t header_bytes =
      1 + CodedOutputStream::VarintSize64(static_cast<uint64_t>(float_bytes));
  writer->AppendLengthTag(item_field, static_cast<int64_t>(item.size()) +
                                          header_bytes + float_bytes);
  writer->Append(item);
  writer->AppendLengthTag(floats_field, float_bytes);
  writer->Append(floats);
}

// Items with tensors go straight to the writer, the others into `message`:
// protobuf reads parts of a message in any order as one.
struct RequestEncoder {
  void operator()(const ChunkPush& push) {
    AppendWithFloats(v1::StreamParametersRequest::kPushesFieldNumber,
                     ToProtoWithoutGradient(push).SerializeAsString(),
                     v1::ChunkPush::kGradientFieldNumber, push.gradient,
                     writer);
  }
  void operator()(const ChunkPull& pull) {
    *message.add_pulls() = ToProto(pull);
  }
  void operator()(const ReductionTotals& totals) {
    *message.add_totals() = ToProto(totals);
  }

  SliceWriter* writer;
  v1::StreamParametersRequest message;
};

struct ReplyEncoder {
  void operator()(const PushAck& ack) { *message.add_acks() = ToProto(ack); }
  void operator()(const ChunkValue& value) {
    AppendWithFloats(v1::StreamParametersResponse::kValuesFieldNumber,
                     ToProtoWithoutWeights(value).SerializeAsString(),
                     v1::ChunkValue::kWeightsFieldNumber, value.weights,
                     writer);
  }
  void operator()(const ReductionPartials& partials) {
    *message.add_partials() = ToProto(partials);
  }
  void operator()(const RequestError& error) {
    *message.add_errors() = ToProto(error);
  }

  SliceWriter* writer;
  v1::StreamParametersResponse message;
};

template <typename Encoder, typename Item>
EncodedFrame Encode(int64_t bytes_max, std::deque<Item>* queue) {
  SELARI_CHECK(!queue->empty());
  SliceWriter writer;
  Encoder encoder{&writer, {}};
  int64_t bytes = 0;
  int count = 0;
  do {
    bytes += WireBytes(queue->front());
    ++count;
    std::visit(encoder, queue->front());
    queue->pop_front();
  } while (!queue->empty() && count < kItemCountMax &&
           bytes + WireBytes(queue->front()) <= bytes_max);
  writer.Append(encoder.message.SerializeAsString());
  return {writer.Finish(), bytes};
}

template <typename Message>
grpc::ByteBuffer EncodeMessage(const Message& message) {
  SliceWriter writer;
  writer.Append(message.SerializeAsString());
  return writer.Finish();
}

absl::Status Parse(const std::string& bytes,
                   google::protobuf::MessageLite* message) {
  if (!message->ParseFromString(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame holds no ", message->GetTypeName()));
  }
  return absl::OkStatus();
}

absl::Status CheckItemCount(int64_t count) {
  if (count > kItemCountMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame has ", count, " items, at most ", kItemCountMax));
  }
  return absl::OkStatus();
}

// The tensor of an item of `parts`, which it keeps alive.
absl::StatusOr<FloatSlice> FloatsOf(
    const char* field, const std::shared_ptr<const FrameParts>& parts,
    const FrameParts::Item& item) {
  SELARI_RETURN_IF_ERROR(CheckTensorBytes(field, item.payload_bytes));
  return FloatSlice(absl::MakeConstSpan(parts->pieces)
                        .subspan(item.first_piece, item.piece_count),
                    parts);
}

absl::StatusOr<ChunkPush> PushOf(const v1::ChunkPush& message,
                                 const std::shared_ptr<const FrameParts>& parts,
                                 const FrameParts::Item& item) {
  SELARI_ASSIGN_OR_RETURN(ChunkPush push, FromProtoWithoutGradient(message));
  SELARI_ASSIGN_OR_RETURN(push.gradient, FloatsOf("gradient", parts, item));
  return push;
}

absl::StatusOr<ChunkValue> ValueOf(
    const std::shared_ptr<const FrameParts>& parts,
    const FrameParts::Item& item) {
  v1::ChunkValue message;
  SELARI_RETURN_IF_ERROR(Parse(item.fields, &message));
  SELARI_ASSIGN_OR_RETURN(ChunkValue value, FromProtoWithoutWeights(message));
  SELARI_ASSIGN_OR_RETURN(value.weights, FloatsOf("weights", parts, item));
  return value;
}

template <typename Message>
RequestError Refusal(const Message& message, int64_t step, int64_t sequence,
                     const absl::Status& status) {
  RequestError error;
  error.chunk = message.chunk();
  error.step = step;
  error.sequence = sequence;
  error.reason = ErrorReason::kShapeMismatch;
  error.status = WithReason(status, error.reason);
  return error;
}

struct TensorBytes {
  int64_t operator()(const ChunkPush& push) const {
    return push.gradient.size_bytes();
  }
  int64_t operator()(const ChunkValue& value) const {
    return value.weights.size_bytes();
  }
  int64_t operator()(const ReductionTotals& totals) const {
    return static_cast<int64_t>(totals.totals.size() * sizeof(double));
  }
  int64_t operator()(const ReductionPartials& partials) const {
    return static_cast<int64_t>(partials.sums.size() * sizeof(double));
  }
  int64_t operator()(const RequestError& error) const {
    return static_cast<int64_t>(error.status.message().size());
  }
  int64_t operator()(const ChunkPull&) const { return 0; }
  int64_t operator()(const PushAck&) const { return 0; }
};

}  // namespace

grpc::ByteBuffer EncodeHeartbeat() {
  return EncodeMessage(v1::StreamParametersRequest());
}

grpc::ByteBuffer EncodeHello(const StreamHello& hello) {
  v1::StreamParametersRequest message;
  message.mutable_hello()->set_job_id(hello.job_id);
  message.mutable_hello()->set_worker_id(hello.worker.worker_id);
  message.mutable_hello()->set_worker_incarnation(hello.worker.incarnation);
  message.mutable_hello()->set_shard_map_version(hello.shard_map_version);
  return EncodeMessage(message);
}

grpc::ByteBuffer EncodeHelloReply(const StreamHelloReply& reply) {
  v1::StreamParametersResponse message;
  message.mutable_hello()->set_server_incarnation(reply.server_incarnation);
  message.mutable_hello()->mutable_shards()->Assign(reply.shards.begin(),
                                                    reply.shards.end());
  message.mutable_hello()->set_window_bytes(reply.window_bytes);
  return EncodeMessage(message);
}

EncodedFrame EncodeRequests(int64_t bytes_max,
                            std::deque<ShardRequest>* queue) {
  return Encode<RequestEncoder>(bytes_max, queue);
}

EncodedFrame EncodeReplies(int64_t bytes_max, std::deque<ShardReply>* queue) {
  return Encode<ReplyEncoder>(bytes_max, queue);
}

int64_t WireBytes(const ShardRequest& request) {
  return kItemBytes + std::visit(TensorBytes(), request);
}

int64_t WireBytes(const ShardReply& reply) {
  return kItemBytes + std::visit(TensorBytes(), reply);
}

absl::StatusOr<RequestFrame> DecodeRequests(const grpc::ByteBuffer& bytes) {
  SELARI_ASSIGN_OR_RETURN(
      const std::shared_ptr<const FrameParts> parts,
      TakeApart(bytes, v1::StreamParametersRequest::kPushesFieldNumber,
                v1::ChunkPush::kGradientFieldNumber, kItemCountMax));
  v1::StreamParametersRequest message;
  SELARI_RETURN_IF_ERROR(Parse(parts->rest, &message));
  SELARI_RETURN_IF_ERROR(
      CheckItemCount(static_cast<int64_t>(parts->items.size()) +
                     message.pulls_size() + message.totals_size()));
  RequestFrame frame;
  if (message.has_hello()) {
    const v1::StreamHello& hello = message.hello();
    frame.hello = StreamHello{hello.job_id(),
                              {hello.worker_id(), hello.worker_incarnation()},
                              hello.shard_map_version()};
  }
  v1::ChunkPush push;
  for (const FrameParts::Item& item : parts->items) {
    SELARI_RETURN_IF_ERROR(Parse(item.fields, &push));
    auto parsed = PushOf(push, parts, item);
    if (parsed.ok()) {
      frame.requests.emplace_back(*std::move(parsed));
    } else {
      frame.refused.push_back(
          Refusal(push, push.step(), push.sequence(), parsed.status()));
    }
  }
  for (const v1::ChunkPull& pull : message.pulls()) {
    auto parsed = FromProto(pull);
    if (parsed.ok()) {
      frame.requests.emplace_back(*std::move(parsed));
    } else {
      frame.refused.push_back(
          Refusal(pull, pull.min_version(), 0, parsed.status()));
    }
  }
  for (const v1::ReductionTotals& totals : message.totals()) {
    SELARI_ASSIGN_OR_RETURN(ReductionTotals parsed, FromProto(totals));
    frame.requests.emplace_back(std::move(parsed));
  }
  return frame;
}

absl::StatusOr<ReplyFrame> DecodeReplies(const grpc::ByteBuffer& bytes) {
  SELARI_ASSIGN_OR_RETURN(
      const std::shared_ptr<const FrameParts> parts,
      TakeApart(bytes, v1::StreamParametersResponse::kValuesFieldNumber,
                v1::ChunkValue::kWeightsFieldNumber, kItemCountMax));
  v1::StreamParametersResponse message;
  SELARI_RETURN_IF_ERROR(Parse(parts->rest, &message));
  SELARI_RETURN_IF_ERROR(CheckItemCount(
      static_cast<int64_t>(parts->items.size()) + message.acks_size() +
      message.partials_size() + message.errors_size()));
  ReplyFrame frame;
  if (message.has_hello()) {
    const v1::StreamHelloReply& hello = message.hello();
    frame.hello =
        StreamHelloReply{hello.server_incarnation(),
                         {hello.shards().begin(), hello.shards().end()},
                         hello.window_bytes()};
  }
  for (const v1::PushAck& ack : message.acks()) {
    SELARI_ASSIGN_OR_RETURN(PushAck parsed, FromProto(ack));
    frame.replies.emplace_back(parsed);
  }
  for (const FrameParts::Item& item : parts->items) {
    SELARI_ASSIGN_OR_RETURN(ChunkValue parsed, ValueOf(parts, item));
    frame.replies.emplace_back(std::move(parsed));
  }
  for (const v1::ReductionPartials& partials : message.partials()) {
    SELARI_ASSIGN_OR_RETURN(ReductionPartials parsed, FromProto(partials));
    frame.replies.emplace_back(std::move(parsed));
  }
  for (const v1::RequestError& error : message.errors()) {
    SELARI_ASSIGN_OR_RETURN(RequestError parsed, FromProto(error));
    frame.replies.emplace_back(std::move(parsed));
  }
  return frame;
}

}  // namespace selari
