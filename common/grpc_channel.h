// Channels as every client of ours makes them, and the numbers that client and
// server must agree on.
//
// Pure functions and constants: safe from any thread.

#ifndef SELARI_COMMON_GRPC_CHANNEL_H_
#define SELARI_COMMON_GRPC_CHANNEL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace selari {

// Largest message that either side takes; the limit that other gRPC clients
// have by default, so that they can read all we send.
constexpr int kGrpcMessageBytesMax = 4 << 20;

// A peer that is silent for so long is asked for a sign of life, and is taken
// for dead when none comes in the second time: noticed within 15 s, also when
// its machine vanished. Client and server use the same values, or the server
// would refuse the client's pings.
constexpr int kKeepaliveTimeMs = 10000;
constexpr int kKeepaliveTimeoutMs = 5000;

// Bytes that a peer may send ahead on one stream (HTTP/2 window). Fixed, as
// the automatic estimate (bdp_probe) measured slower.
constexpr int kHttp2WindowBytes = 4 << 20;

// A channel with a connection of its own to "host:port". Dials at the first
// call, goes on dialling at least once a second while calls wait, and looks
// the name up again each time. `credentials` null: insecure.
std::shared_ptr<grpc::Channel> CreateGrpcChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace selari

#endif  // SELARI_COMMON_GRPC_CHANNEL_H_
