#include "server/rpc/rpc_server.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/grpc_channel.h"
#include "gmock/gmock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "gtest/gtest.h"
#include "selari/v1/parameter_service.grpc.pb.h"

namespace selari {
namespace {

using grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

constexpr char kService[] = "selari.v1.ParameterService";

class RpcServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<RpcServer> StartAt(const std::string& address) {
    RpcServer::Options options;
    options.address = address;
    options.health_names = {kService};
    auto server = RpcServer::Start(options, {&service_});
    status_ = server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }

  static HealthCheckResponse::ServingStatus Health(int port,
                                                   const std::string& name) {
    const auto channel =
        CreateGrpcChannel(absl::StrCat("127.0.0.1:", port), nullptr);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse response;
    grpc::health::v1::Health::NewStub(channel)->Check(&context, request,
                                                      &response);
    return response.status();
  }

  v1::ParameterService::Service service_;
  absl::Status status_;
};

TEST_F(RpcServerTest, PortInUseNamesAddressAndError) {
  const auto first = StartAt("127.0.0.1:0");
  ASSERT_NE(first, nullptr);
  const std::string address = absl::StrCat("127.0.0.1:", first->port());

  EXPECT_FALSE(StartAt(address));

  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status_.message()), HasSubstr(address));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("in use (errno 98)"));
}

TEST_F(RpcServerTest, ImpossibleAddressIsRefused) {
  for (const char* address : {"nonsense", "127.0.0.1:", ":80", "192.0.2.1:0"}) {
    EXPECT_EQ(StartAt(address), nullptr) << address;
    EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument) << status_;
    EXPECT_THAT(std::string(status_.message()), HasSubstr(address));
  }
}

TEST_F(RpcServerTest, NamedServiceIsUnhealthyUntilTold) {
  const auto server = StartAt("127.0.0.1:0");
  ASSERT_NE(server, nullptr);

  EXPECT_EQ(Health(server->port(), ""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Health(server->port(), kService), HealthCheckResponse::NOT_SERVING);
  server->SetServing(true);
  EXPECT_EQ(Health(server->port(), kService), HealthCheckResponse::SERVING);
  server->SetServing(false);
  EXPECT_EQ(Health(server->port(), kService), HealthCheckResponse::NOT_SERVING);
}

// Asks the reflection service what there is. Its messages are written by hand:
// the library that serves them keeps their classes to itself.
std::string ListServices(int port) {
  const auto channel =
      CreateGrpcChannel(absl::StrCat("127.0.0.1:", port), nullptr);
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  // ServerReflectionRequest.list_services = 7, any string.
  const grpc::Slice request(std::string("\x3a\x01*"));
  call->Write(grpc::ByteBuffer(&request, 1), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  queue.Next(&tag, &ok);
  grpc::Slice bytes;
  EXPECT_TRUE(ok && response.DumpToSingleSlice(&bytes).ok());
  grpc::Status status;
  context.TryCancel();
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  return std::string(reinterpret_cast<const char*>(bytes.begin()),
                     bytes.size());
}

TEST_F(RpcServerTest, ReflectionListsTheServices) {
  const auto server = StartAt("127.0.0.1:0");
  ASSERT_NE(server, nullptr);

  const std::string services = ListServices(server->port());

  EXPECT_THAT(services, HasSubstr(kService));
  EXPECT_THAT(services, HasSubstr("grpc.health.v1.Health"));
}

}  // namespace
}  // namespace selari
