// The values of shard_message.h <-> their messages in proto/selari/v1, each
// field checked on the way in. Frames of the stream are built from these by
// wire.h; the unary calls use them directly.
//
// Pure functions: safe from any thread.

#ifndef SELARI_COMMON_WIRE_PROTO_H_
#define SELARI_COMMON_WIRE_PROTO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "common/shared_memory.h"
#include "selari/v1/parameter_service.pb.h"

namespace selari {

// INVALID_ARGUMENT names the field and its value.
//
// Tensor bytes in the message become floats by reference where they are
// aligned for it and by copy otherwise; `owner` keeps `message` alive.
absl::StatusOr<ChunkPush> FromProto(const v1::ChunkPush& message,
                                    const std::shared_ptr<const void>& owner);
// Without the tensor, which lies elsewhere.
absl::StatusOr<ChunkPush> FromProtoWithoutGradient(
    const v1::ChunkPush& message);
absl::StatusOr<ChunkValue> FromProtoWithoutWeights(
    const v1::ChunkValue& message);
// Whether so many bytes can be a tensor's.
absl::Status CheckTensorBytes(const char* field, int64_t bytes);
absl::StatusOr<ChunkPull> FromProto(const v1::ChunkPull& message);
absl::StatusOr<ReductionTotals> FromProto(const v1::ReductionTotals& message);
absl::StatusOr<PushAck> FromProto(const v1::PushAck& message);
absl::StatusOr<ReductionPartials> FromProto(
    const v1::ReductionPartials& message);
absl::StatusOr<RequestError> FromProto(const v1::RequestError& message);
// Unchecked: SharedMemory::Borrow does that.
SharedMemoryOffer FromProto(const v1::SharedMemory& message);

// Without the tensor bytes: the caller adds them, by reference or by copy.
v1::ChunkPush ToProtoWithoutGradient(const ChunkPush& push);
v1::ChunkValue ToProtoWithoutWeights(const ChunkValue& value);

// Without the place for the weights.
v1::ChunkPull ToProto(const ChunkPull& pull);
v1::ReductionTotals ToProto(const ReductionTotals& totals);
v1::PushAck ToProto(const PushAck& ack);
v1::ReductionPartials ToProto(const ReductionPartials& partials);
// The message is cut after 1,024 characters.
v1::RequestError ToProto(const RequestError& error);
v1::SharedMemory ToProto(const SharedMemoryOffer& offer);

}  // namespace selari

#endif  // SELARI_COMMON_WIRE_PROTO_H_
