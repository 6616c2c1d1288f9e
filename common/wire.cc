#include "common/wire.h"

#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "common/check.h"
#include "common/frame_parts.h"
#include "common/shared_buffers.h"
#include "common/slice_writer.h"
#include "common/status.h"
#include "common/wire_proto.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message_lite.h"
#include "selari/v1/parameter_service.pb.h"

namespace selari {
namespace {

using google::protobuf::io::CodedOutputStream;

// Tag, lengths and numbers of any item: an upper bound.
constexpr int64_t kItemBytes = 96;
constexpr int kItemCountMax = 1 << 16;
// A tensor that is only named counts for this part of its bytes, so that the
// receiver still works on one frame while the next is made.
constexpr int64_t kSharedBytesShare = 8;

int64_t BytesOf(absl::Span<const float> floats) {
  return static_cast<int64_t>(floats.size() * sizeof(float));
}

// One item of a repeated message field `item_field`.
void AppendItem(int item_field, const std::string& item, SliceWriter* writer) {
  writer->AppendLengthTag(item_field, static_cast<int64_t>(item.size()));
  writer->Append(item);
}

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

// Where floats lie in memory that both ends have; nothing when they do not, or
// are too few for the trouble.
std::optional<int64_t> SharedOffset(const float* floats, int64_t bytes,
                                    const SharedMemory* shared) {
  return shared == nullptr || bytes < kSharedBytesMin
             ? std::nullopt
             : shared->OffsetOf(floats, bytes);
}

void SetRange(int64_t offset, int64_t bytes, v1::SharedRange* range) {
  range->set_offset(offset);
  range->set_bytes(bytes);
}

// Items with tensors go straight to the writer, the others into `message`:
// protobuf reads parts of a message in any order as one.
struct RequestEncoder {
  void operator()(const ChunkPush& push) {
    v1::ChunkPush item = ToProtoWithoutGradient(push);
    const FloatSlice& gradient = push.gradient;
    const std::optional<int64_t> offset =
        SharedOffset(gradient.data(), gradient.size_bytes(), shared);
    if (offset.has_value()) {
      SetRange(*offset, gradient.size_bytes(), item.mutable_gradient_at());
      shared_bytes += gradient.size_bytes();
      // Not in `message`: all pushes stay in one order.
      AppendItem(v1::StreamParametersRequest::kPushesFieldNumber,
                 item.SerializeAsString(), writer);
      return;
    }
    AppendWithFloats(v1::StreamParametersRequest::kPushesFieldNumber,
                     item.SerializeAsString(),
                     v1::ChunkPush::kGradientFieldNumber, gradient, writer);
  }
  void operator()(const ChunkPull& pull) {
    v1::ChunkPull* const item = message.add_pulls();
    *item = ToProto(pull);
    const int64_t bytes = BytesOf(pull.into);
    const std::optional<int64_t> offset =
        SharedOffset(pull.into.data(), bytes, shared);
    if (offset.has_value()) {
      SetRange(*offset, bytes, item->mutable_weights_to());
    }
  }
  void operator()(const ReductionTotals& totals) {
    *message.add_totals() = ToProto(totals);
  }

  SliceWriter* writer;
  const SharedMemory* shared;
  v1::StreamParametersRequest message;
  int64_t shared_bytes = 0;
};

struct ReplyEncoder {
  void operator()(const PushAck& ack) { *message.add_acks() = ToProto(ack); }
  void operator()(const ChunkValue& value) {
    v1::ChunkValue item = ToProtoWithoutWeights(value);
    const FloatSlice& weights = value.weights;
    const std::optional<int64_t> offset =
        SharedOffset(weights.data(), weights.size_bytes(), shared);
    if (offset.has_value()) {
      SetRange(*offset, weights.size_bytes(), item.mutable_weights_at());
      shared_bytes += weights.size_bytes();
      AppendItem(v1::StreamParametersResponse::kValuesFieldNumber,
                 item.SerializeAsString(), writer);
      return;
    }
    AppendWithFloats(v1::StreamParametersResponse::kValuesFieldNumber,
                     item.SerializeAsString(),
                     v1::ChunkValue::kWeightsFieldNumber, weights, writer);
  }
  void operator()(const ReductionPartials& partials) {
    *message.add_partials() = ToProto(partials);
  }
  void operator()(const RequestError& error) {
    *message.add_errors() = ToProto(error);
  }

  SliceWriter* writer;
  const SharedMemory* shared;
  v1::StreamParametersResponse message;
  int64_t shared_bytes = 0;
};

template <typename Encoder, typename Item>
EncodedFrame Encode(int64_t bytes_max, std::deque<Item>* queue,
                    const SharedMemory* shared) {
  SELARI_CHECK(!queue->empty());
  SliceWriter writer;
  Encoder encoder{&writer, shared, {}};
  int64_t bytes = 0;
  int count = 0;
  do {
    bytes += WireBytes(queue->front(), shared);
    ++count;
    std::visit(encoder, queue->front());
    queue->pop_front();
  } while (!queue->empty() && count < kItemCountMax &&
           bytes + WireBytes(queue->front(), shared) <= bytes_max);
  writer.Append(encoder.message.SerializeAsString());
  return {writer.Finish(), bytes, encoder.shared_bytes};
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

// The floats that the other end means.
absl::StatusOr<absl::Span<float>> FloatsAt(
    const char* field, const v1::SharedRange& range,
    const std::shared_ptr<SharedMemory>& shared) {
  if (shared == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is set, but this stream shares no memory"));
  }
  absl::StatusOr<float*> floats = shared->At(range.offset(), range.bytes());
  if (!floats.ok()) {
    return Annotate(floats.status(), field);
  }
  return absl::MakeSpan(*floats,
                        static_cast<size_t>(range.bytes()) / sizeof(float));
}

absl::StatusOr<FloatSlice> SliceAt(
    const char* field, const v1::SharedRange& range,
    const std::shared_ptr<SharedMemory>& shared) {
  SELARI_ASSIGN_OR_RETURN(const absl::Span<float> floats,
                          FloatsAt(field, range, shared));
  return FloatSlice(floats.data(), static_cast<int64_t>(floats.size()), shared);
}

// A tensor comes in the message or is named, never both.
absl::Status CheckOnePlace(const char* field, const FrameParts::Item& item) {
  if (item.payload_bytes == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is set beside ", item.payload_bytes, " bytes in the message"));
}

absl::StatusOr<ChunkPush> PushOf(const v1::ChunkPush& message,
                                 const std::shared_ptr<const FrameParts>& parts,
                                 const FrameParts::Item& item,
                                 const std::shared_ptr<SharedMemory>& shared) {
  SELARI_ASSIGN_OR_RETURN(ChunkPush push, FromProtoWithoutGradient(message));
  if (message.has_gradient_at()) {
    SELARI_RETURN_IF_ERROR(CheckOnePlace("gradient_at", item));
    SELARI_ASSIGN_OR_RETURN(
        push.gradient, SliceAt("gradient_at", message.gradient_at(), shared));
    return push;
  }
  SELARI_ASSIGN_OR_RETURN(push.gradient, FloatsOf("gradient", parts, item));
  return push;
}

absl::StatusOr<ChunkPull> PullOf(const v1::ChunkPull& message,
                                 const std::shared_ptr<SharedMemory>& shared) {
  SELARI_ASSIGN_OR_RETURN(ChunkPull pull, FromProto(message));
  if (message.has_weights_to()) {
    SELARI_ASSIGN_OR_RETURN(
        pull.into, FloatsAt("weights_to", message.weights_to(), shared));
  }
  return pull;
}

absl::StatusOr<ChunkValue> ValueOf(
    const std::shared_ptr<const FrameParts>& parts,
    const FrameParts::Item& item, const std::shared_ptr<SharedMemory>& shared,
    int64_t* shared_bytes) {
  v1::ChunkValue message;
  SELARI_RETURN_IF_ERROR(Parse(item.fields, &message));
  SELARI_ASSIGN_OR_RETURN(ChunkValue value, FromProtoWithoutWeights(message));
  if (message.has_weights_at()) {
    SELARI_RETURN_IF_ERROR(CheckOnePlace("weights_at", item));
    SELARI_ASSIGN_OR_RETURN(
        value.weights, SliceAt("weights_at", message.weights_at(), shared));
    *shared_bytes += value.weights.size_bytes();
    return value;
  }
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
    return Share(push.gradient);
  }
  int64_t operator()(const ChunkValue& value) const {
    return Share(value.weights);
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

  int64_t Share(const FloatSlice& floats) const {
    const int64_t bytes = floats.size_bytes();
    return SharedOffset(floats.data(), bytes, shared).has_value()
               ? bytes / kSharedBytesShare
               : bytes;
  }

  const SharedMemory* shared;
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
  if (hello.shared_memory.has_value()) {
    *message.mutable_hello()->mutable_shared_memory() =
        ToProto(*hello.shared_memory);
  }
  return EncodeMessage(message);
}

grpc::ByteBuffer EncodeHelloReply(const StreamHelloReply& reply) {
  v1::StreamParametersResponse message;
  message.mutable_hello()->set_server_incarnation(reply.server_incarnation);
  message.mutable_hello()->mutable_shards()->Assign(reply.shards.begin(),
                                                    reply.shards.end());
  message.mutable_hello()->set_window_bytes(reply.window_bytes);
  message.mutable_hello()->set_shared_memory_opened(reply.shared_memory_opened);
  return EncodeMessage(message);
}

EncodedFrame EncodeRequests(int64_t bytes_max, std::deque<ShardRequest>* queue,
                            const SharedMemory* shared) {
  return Encode<RequestEncoder>(bytes_max, queue, shared);
}

EncodedFrame EncodeReplies(int64_t bytes_max, std::deque<ShardReply>* queue,
                           const SharedMemory* shared) {
  return Encode<ReplyEncoder>(bytes_max, queue, shared);
}

int64_t WireBytes(const ShardRequest& request, const SharedMemory* shared) {
  return kItemBytes + std::visit(TensorBytes{shared}, request);
}

int64_t WireBytes(const ShardReply& reply, const SharedMemory* shared) {
  return kItemBytes + std::visit(TensorBytes{shared}, reply);
}

absl::StatusOr<RequestFrame> DecodeRequests(
    const grpc::ByteBuffer& bytes,
    const std::shared_ptr<SharedMemory>& shared) {
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
                              hello.shard_map_version(),
                              std::nullopt};
    if (hello.has_shared_memory()) {
      frame.hello->shared_memory = FromProto(hello.shared_memory());
    }
  }
  v1::ChunkPush push;
  for (const FrameParts::Item& item : parts->items) {
    SELARI_RETURN_IF_ERROR(Parse(item.fields, &push));
    auto parsed = PushOf(push, parts, item, shared);
    if (parsed.ok()) {
      frame.requests.emplace_back(*std::move(parsed));
    } else {
      frame.refused.push_back(
          Refusal(push, push.step(), push.sequence(), parsed.status()));
    }
  }
  for (const v1::ChunkPull& pull : message.pulls()) {
    auto parsed = PullOf(pull, shared);
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

absl::StatusOr<ReplyFrame> DecodeReplies(
    const grpc::ByteBuffer& bytes,
    const std::shared_ptr<SharedMemory>& shared) {
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
                         hello.window_bytes(),
                         hello.shared_memory_opened()};
  }
  for (const v1::PushAck& ack : message.acks()) {
    SELARI_ASSIGN_OR_RETURN(PushAck parsed, FromProto(ack));
    frame.replies.emplace_back(parsed);
  }
  for (const FrameParts::Item& item : parts->items) {
    SELARI_ASSIGN_OR_RETURN(ChunkValue parsed,
                            ValueOf(parts, item, shared, &frame.shared_bytes));
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
