#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/shared_memory.h"
#include "common/wire.h"
#include "grpcpp/support/slice.h"
#include "selari/v1/parameter_service.pb.h"
#include "tests/fuzz/fuzz_seeds.h"

namespace {

template <typename T>
void ReadAll(const selari::FloatSlice& floats, T* sink) {
  std::vector<float> copy(static_cast<std::size_t>(floats.size()));
  floats.Copy(0, floats.size(), copy.data());
  for (const float f : copy) {
    *sink += f;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // In two parts, cut where the input says, so that anything may straddle.
  const size_t cut = size == 0 ? 0 : data[0] % size;
  const grpc::Slice slices[] = {grpc::Slice(data, cut),
                                grpc::Slice(data + cut, size - cut)};
  // Keeps the compiler from dropping the reads.
  volatile float sink = 0;
  // Ranges of it are as welcome as any bytes.
  static const auto* const shared = new std::shared_ptr<selari::SharedMemory>(
      *selari::SharedMemory::Lend(2 * selari::SharedMemory::kHeaderBytes));
  const auto requests =
      selari::DecodeRequests(grpc::ByteBuffer(slices, 2), *shared);
  if (requests.ok()) {
    for (const selari::ShardRequest& request : requests->requests) {
      if (const auto* push = std::get_if<selari::ChunkPush>(&request)) {
        ReadAll(push->gradient, &sink);
      } else if (const auto* pull = std::get_if<selari::ChunkPull>(&request)) {
        std::fill(pull->into.begin(), pull->into.end(), 0.0f);
      }
    }
  }
  const auto replies =
      selari::DecodeReplies(grpc::ByteBuffer(slices, 2), *shared);
  if (replies.ok()) {
    for (const selari::ShardReply& reply : replies->replies) {
      if (const auto* value = std::get_if<selari::ChunkValue>(&reply)) {
        ReadAll(value->weights, &sink);
      }
    }
    // What was understood can be said again.
    std::deque<selari::ShardReply> queue(replies->replies.begin(),
                                         replies->replies.end());
    if (!queue.empty()) {
      selari::EncodeReplies(selari::kFrameBytesMax, &queue);
    }
  }
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  v1::StreamParametersRequest request;
  request.mutable_hello()->set_job_id("0123456789abcdef");
  request.mutable_hello()->set_worker_incarnation(7);
  v1::ChunkPush* push = request.add_pushes();
  push->mutable_node()->set_level(1);
  push->set_sequence(3);
  push->set_gradient("12345678");
  push = request.add_pushes();
  push->set_sequence(4);
  push->mutable_gradient_at()->set_offset(4096);
  push->mutable_gradient_at()->set_bytes(4096);
  v1::ChunkPull* pull = request.add_pulls();
  pull->set_min_version(4);
  pull->mutable_weights_to()->set_offset(8188);
  pull->mutable_weights_to()->set_bytes(4);
  request.mutable_hello()->mutable_shared_memory()->set_process_id(1);
  request.add_totals()->add_totals(0.5);

  v1::StreamParametersResponse response;
  response.mutable_hello()->add_shards(3);
  response.add_acks()->set_sequence(3);
  v1::ChunkValue* value = response.add_values();
  value->set_version(4);
  value->set_weights("12345678");
  response.add_values()->mutable_weights_at()->set_offset(4096);
  response.mutable_values(1)->mutable_weights_at()->set_bytes(8);
  response.add_partials()->add_sums(0.5);
  v1::RequestError* error = response.add_errors();
  error->set_code(8);
  error->set_reason(v1::ERROR_REASON_QUEUE_FULL);
  error->set_message("full");

  return {request.SerializeAsString(), response.SerializeAsString()};
}
