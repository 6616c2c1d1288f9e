#include "server/rpc/parameter_service.h"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "selari/v1/parameter_service.grpc.pb.h"
#include "server/rpc/fake_shard_host.h"
#include "server/rpc/rpc_server.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

using Stream = grpc::ClientReaderWriter<v1::StreamParametersRequest,
                                        v1::StreamParametersResponse>;

std::string Floats(int64_t count, float value) {
  const std::vector<float> floats(count, value);
  return std::string(reinterpret_cast<const char*>(floats.data()),
                     count * sizeof(float));
}

float FirstFloat(const std::string& bytes) {
  float value = 0;
  EXPECT_GE(bytes.size(), sizeof(value));
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// A server with a fake host, spoken to by a plain client made from the protos.
// Tensors "a" (32 elements: chunks 0 and, on shard 1, 1) and "b" (16: chunk
// 2, shard 1); see ChunkLayout.
class ParameterServiceTest : public ::testing::Test {
 protected:
  void Serve(std::vector<int32_t> shards, ParameterService::Options options) {
    host_ = std::make_unique<FakeShardHost>(
        std::vector<std::pair<std::string, int64_t>>{{"a", 32}, {"b", 16}},
        std::move(shards));
    options.server_incarnation = 77;
    service_ = std::make_unique<ParameterService>(host_.get(), options);
    auto server = RpcServer::Start({}, {service_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::ParameterService::NewStub(CreateGrpcChannel(
        absl::StrCat("127.0.0.1:", server_->port()), nullptr));
  }

  void SetUp() override { Serve({0, 1}, {}); }

  void TearDown() override {
    service_->Drain(1000);
    server_->Shutdown(0);
  }

  std::unique_ptr<Stream> Open(grpc::ClientContext* context) {
    context->set_wait_for_ready(true);
    return stub_->StreamParameters(context);
  }

  static v1::StreamParametersRequest Hello(const std::string& job,
                                           int32_t worker, uint64_t life) {
    v1::StreamParametersRequest request;
    request.mutable_hello()->set_job_id(job);
    request.mutable_hello()->set_worker_id(worker);
    request.mutable_hello()->set_worker_incarnation(life);
    return request;
  }

  // Opens a stream and gets through the hello.
  std::unique_ptr<Stream> OpenAsWorker(grpc::ClientContext* context) {
    auto stream = Open(context);
    EXPECT_TRUE(stream->Write(Hello("job", 1, 9)));
    v1::StreamParametersResponse response;
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.hello().server_incarnation(), 77u);
    return stream;
  }

  static void AddPush(int32_t chunk, int64_t sequence, float value,
                      v1::StreamParametersRequest* request) {
    v1::ChunkPush* push = request->add_pushes();
    push->set_chunk(chunk);
    push->set_sequence(sequence);
    push->set_gradient(Floats(16, value));
  }

  // How a stream that begins with `request` ends.
  absl::Status EndOf(const v1::StreamParametersRequest& request) {
    grpc::ClientContext context;
    auto stream = Open(&context);
    stream->Write(request);
    v1::StreamParametersResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return FromGrpcStatus(stream->Finish());
  }

  std::unique_ptr<FakeShardHost> host_;
  std::unique_ptr<ParameterService> service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::ParameterService::Stub> stub_;
};

TEST_F(ParameterServiceTest, HelloOfAnotherJobIsRefused) {
  const absl::Status status = EndOf(Hello("other", 0, 9));

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kWrongJob);
  EXPECT_EQ(status.message(), "this server runs job job, not other");
  EXPECT_EQ(ReasonMetadata("server_incarnation", status), "77");
}

TEST_F(ParameterServiceTest, HelloOfAnImpossibleWorkerIsRefused) {
  for (const auto& hello :
       {Hello("job", -1, 9), Hello("job", 2, 9), Hello("job", 0, 0)}) {
    EXPECT_EQ(EndOf(hello).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ParameterServiceTest, FirstRequestMustBeHelloAlone) {
  v1::StreamParametersRequest both = Hello("job", 0, 9);
  both.add_pulls();
  for (const auto& first : {v1::StreamParametersRequest(), both}) {
    EXPECT_THAT(std::string(EndOf(first).message()),
                HasSubstr("must hold hello"));
  }
}

TEST_F(ParameterServiceTest, PushIsAckedAndPullAnswered) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  v1::StreamParametersRequest request;
  AddPush(0, 1, 2.5f, &request);
  request.add_pulls()->set_min_version(1);

  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();

  v1::StreamParametersResponse all;
  v1::StreamParametersResponse response;
  while (stream->Read(&response)) {
    all.MergeFrom(response);
  }
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(all.acks_size(), 1);
  EXPECT_EQ(all.acks(0).guarantee(), v1::GUARANTEE_CHECKPOINTED);
  ASSERT_EQ(all.values_size(), 1);
  EXPECT_EQ(all.values(0).version(), 1);
  EXPECT_EQ(FirstFloat(all.values(0).weights()), -2.5f);
}

TEST_F(ParameterServiceTest, HalfClosedStreamEndsAfterItsLastAnswer) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  host_->HoldReplies();
  v1::StreamParametersRequest request;
  request.add_pulls();
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  host_->WaitForRequests(1);

  host_->ReleaseReplies();

  v1::StreamParametersResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.values_size(), 1);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ParameterServiceTest, ImpossiblePushIsRefusedAndTheStreamGoesOn) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  v1::StreamParametersRequest request;
  AddPush(0, 1, 1, &request);
  request.mutable_pushes(0)->set_gradient("12345");
  ASSERT_TRUE(stream->Write(request));

  v1::StreamParametersResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.errors_size(), 1);
  EXPECT_EQ(response.errors(0).reason(), v1::ERROR_REASON_SHAPE_MISMATCH);
  request.mutable_pushes(0)->set_gradient(Floats(16, 1));
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.acks_size(), 1);
}

TEST_F(ParameterServiceTest, CancelledStreamLeavesNothingBehind) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  EXPECT_EQ(host_->session_count(), 1);

  context.TryCancel();

  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  service_->Drain(1000);
  EXPECT_EQ(host_->session_count(), 0);
}

TEST_F(ParameterServiceTest, DrainEndsStreamsAndRefusesNewOnes) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  host_->HoldReplies();

  service_->Drain(1000);

  v1::StreamParametersResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(EndOf(Hello("job", 0, 9)).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ParameterServiceTest, ServerWithoutShardsAsksToRetry) {
  TearDown();
  Serve({}, {});

  const absl::Status status = EndOf(Hello("job", 0, 9));

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kNotInitialized);
  EXPECT_GT(RetryAfterMs(status), 0);
}

TEST_F(ParameterServiceTest, ToolsListDescribeAndPullTensors) {
  v1::ListTensorsResponse list;
  v1::GetTensorResponse tensor;
  v1::GetTensorRequest get;
  get.set_name("a");
  v1::PullTensorRequest pull;
  pull.set_name("a");
  pull.set_offset(10);
  pull.set_count(12);
  v1::PullTensorResponse pulled;
  grpc::ClientContext contexts[3];
  contexts[0].set_wait_for_ready(true);

  ASSERT_TRUE(stub_->ListTensors(&contexts[0], {}, &list).ok());
  ASSERT_TRUE(stub_->GetTensor(&contexts[1], get, &tensor).ok());
  ASSERT_TRUE(stub_->PullTensor(&contexts[2], pull, &pulled).ok());

  EXPECT_EQ(list.job_id(), "job");
  ASSERT_EQ(list.tensors_size(), 2);
  EXPECT_EQ(list.tensors(1).spec().name(), "b");
  ASSERT_EQ(tensor.tensor().chunks_size(), 2);
  EXPECT_EQ(tensor.tensor().chunks(1).offset(), 16);
  EXPECT_TRUE(tensor.tensor().chunks(1).hosted_here());
  ASSERT_EQ(pulled.pieces_size(), 2);
  EXPECT_EQ(pulled.pieces(0).offset(), 10);
  EXPECT_EQ(pulled.pieces(0).data().size(), 24u);
  EXPECT_EQ(pulled.pieces(1).offset(), 16);
  EXPECT_EQ(pulled.pieces(1).count(), 6);
}

TEST_F(ParameterServiceTest, ImpossiblePullsAreRefused) {
  const auto code_of = [this](const std::string& name, int64_t offset,
                              int64_t count) {
    v1::PullTensorRequest request;
    request.set_name(name);
    request.set_offset(offset);
    request.set_count(count);
    v1::PullTensorResponse response;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    return stub_->PullTensor(&context, request, &response).error_code();
  };

  EXPECT_EQ(code_of("none", 0, 0), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code_of("a", -1, 1), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(code_of("a", 30, 3), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(code_of("a", 1, int64_t{1} << 62), grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(ParameterServiceTest, UnaryPushIsAppliedOnceAndPulled) {
  v1::PushGradientRequest push;
  push.set_job_id("job");
  push.set_worker_incarnation(5);
  for (int chunk = 0; chunk < 2; ++chunk) {
    push.add_pushes()->set_chunk(chunk);
    push.mutable_pushes(chunk)->set_sequence(1);
    push.mutable_pushes(chunk)->set_gradient(Floats(16, 3));
  }
  for (const bool repeated : {false, true}) {
    v1::PushGradientResponse acks;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    ASSERT_TRUE(stub_->PushGradient(&context, push, &acks).ok());
    ASSERT_EQ(acks.acks_size(), 2);
    EXPECT_EQ(acks.acks(1).chunk(), 1);
    EXPECT_EQ(acks.acks(1).repeated_push(), repeated);
  }

  EXPECT_EQ(host_->applied_count(), 2);
  EXPECT_EQ(host_->weight(1, 15), -3.0f);
}

TEST_F(ParameterServiceTest, UnaryPushOfAnotherJobIsRefused) {
  v1::PushGradientRequest push;
  push.set_job_id("x");
  v1::PushGradientResponse acks;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);

  const absl::Status status =
      FromGrpcStatus(stub_->PushGradient(&context, push, &acks));

  EXPECT_EQ(ReasonOf(status), ErrorReason::kWrongJob);
}

TEST_F(ParameterServiceTest, UnaryPushIsRefusedWhereNormsAreOfTheWholeModel) {
  v1::ResolvedJob resolved = host_->job()->resolved;
  resolved.mutable_job()->mutable_optimizer()->set_clip_global_norm(1);
  resolved.mutable_job()->mutable_consistency()->set_mode(v1::CONSISTENCY_SYNC);
  const auto job = ShardJob::Create(resolved);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(host_->Reinitialize(*job, {0, 1}).ok());
  v1::PushGradientRequest push;
  push.set_job_id("job");
  push.set_worker_incarnation(5);
  push.add_pushes()->set_sequence(1);
  push.mutable_pushes(0)->set_gradient(Floats(16, 3));
  v1::PushGradientResponse acks;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);

  const grpc::Status status = stub_->PushGradient(&context, push, &acks);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("push there"), std::string::npos);
  EXPECT_EQ(host_->request_count(), 0);
}

TEST_F(ParameterServiceTest, WaitingPullEndsWithItsDeadline) {
  v1::PullTensorRequest pull;
  pull.set_name("b");
  pull.set_min_version(1);
  v1::PullTensorResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(50));

  EXPECT_EQ(stub_->PullTensor(&context, pull, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  service_->Drain(1000);
  EXPECT_EQ(host_->session_count(), 0);
}

TEST_F(ParameterServiceTest, DrainEndsAWaitingPull) {
  v1::PullTensorRequest pull;
  pull.set_name("b");
  pull.set_min_version(1);
  grpc::Status status;
  std::thread caller([&] {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    v1::PullTensorResponse response;
    status = stub_->PullTensor(&context, pull, &response);
  });
  host_->WaitForRequests(1);

  service_->Drain(1000);
  caller.join();

  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Fills the outgoing queue of a client that does not read, and counts how many
// of its further requests are taken.
TEST_F(ParameterServiceTest, SlowReaderIsNotReadFrom) {
  TearDown();
  ParameterService::Options options;
  options.outgoing_bytes_max = 1;
  Serve({0, 1}, options);
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  // One value of 1 KiB would fit into the connection's buffers: partials of
  // 2 MiB each do not.
  ReductionPartials partials;
  partials.sums.assign(1 << 18, 0.5);
  for (int i = 0; i < 8; ++i) {
    host_->Broadcast(partials);
  }

  v1::StreamParametersRequest pull;
  pull.add_pulls();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream->Write(pull));
  }
  int64_t answered_early = 0;
  v1::StreamParametersResponse response;
  for (int i = 0; i < 4 && stream->Read(&response); ++i) {
    answered_early += response.values_size();
  }

  // One read may have been under way when the queue filled.
  EXPECT_LE(answered_early, 1);
  context.TryCancel();
}

// While gradients wait for a shard, no more are read: memory is bounded by the
// connection's flow control.
TEST_F(ParameterServiceTest, WaitingGradientsKeepMoreFromBeingRead) {
  TearDown();
  ParameterService::Options options;
  options.incoming_bytes_max = 100;
  Serve({0, 1}, options);
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  host_->HoldHandled();
  for (int64_t sequence = 1; sequence <= 5; ++sequence) {
    v1::StreamParametersRequest request;
    AddPush(0, sequence, 1, &request);
    ASSERT_TRUE(stream->Write(request));
  }
  // Two pushes of 64 bytes pass the limit. By the time their acknowledgements
  // are here, a third one could have been read. Several may share a frame.
  int acks = 0;
  const auto read_acks = [&](int count) {
    while (acks < count) {
      v1::StreamParametersResponse response;
      ASSERT_TRUE(stream->Read(&response));
      acks += response.acks_size();
    }
  };
  read_acks(2);
  EXPECT_EQ(host_->request_count(), 2);

  host_->ReleaseHandled();
  host_->WaitForRequests(5);
  read_acks(5);
  context.TryCancel();
}

TEST_F(ParameterServiceTest, DrainBreaksOffAReaderThatDoesNotRead) {
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);
  ReductionPartials partials;
  partials.sums.assign(1 << 18, 0.5);
  for (int i = 0; i < 20; ++i) {
    host_->Broadcast(partials);
  }

  service_->Drain(10);

  EXPECT_EQ(host_->session_count(), 0);
}

TEST_F(ParameterServiceTest, TooManyStreamsAreRefused) {
  TearDown();
  ParameterService::Options options;
  options.calls_max = 1;
  Serve({0, 1}, options);
  grpc::ClientContext context;
  auto stream = OpenAsWorker(&context);

  EXPECT_EQ(EndOf(Hello("job", 0, 9)).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace selari
