// absl::Status <-> grpc::Status: the only place that converts them. Payloads of
// an absl::Status (see error_reason.h) cross as the details of a
// google.rpc.Status, as gRPC's richer error model says.
//
// Pure functions: safe from any thread.

#ifndef SELARI_COMMON_GRPC_STATUS_H_
#define SELARI_COMMON_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace selari {

// The message is cut after 1,024 characters: trailers must fit into the 8 KiB
// of metadata that a peer accepts.
grpc::Status ToGrpcStatus(const absl::Status& status);

// Details that do not parse are left out. A code out of range becomes UNKNOWN.
// What gRPC itself says of a connection becomes readable, without the address:
// "no connection: Connection refused; check the address, and that it was
// started".
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace selari

#endif  // SELARI_COMMON_GRPC_STATUS_H_
