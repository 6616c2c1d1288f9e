#include "server/rpc/tensor_calls.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "common/job_reduction.h"
#include "common/status.h"
#include "common/wire_proto.h"
#include "server/rpc/hello_check.h"

namespace selari {
namespace {

// 2 MiB of floats: half of what a client takes in one message by default.
constexpr int64_t kPullCountMax = 524288;
// Some 24 bytes each: less than half of the same. Tensors without many chunks
// are bounded by it too, as each has one.
constexpr size_t kPageChunksMax = 65536;

absl::StatusOr<std::shared_ptr<const ShardJob>> JobOf(const ShardHost& host) {
  auto job = host.job();
  if (job == nullptr) {
    return WithReason(absl::FailedPreconditionError(
                          "the server waits to be given its shards"),
                      ErrorReason::kNotInitialized);
  }
  return job;
}

absl::StatusOr<int32_t> FindTensor(const ShardJob& job,
                                   const std::string& name) {
  for (int32_t i = 0; i < job.resolved.tensors_size(); ++i) {
    if (job.resolved.tensors(i).name() == name) {
      return i;
    }
  }
  return absl::NotFoundError(absl::StrCat("job ", job.resolved.job_id(),
                                          " has no tensor \"", name, "\""));
}

// For each logical shard, whether it is hosted and how far it is.
struct Hosting {
  explicit Hosting(const ShardHost& host) {
    for (const ShardProgress& shard : host.Progress()) {
      versions[shard.shard] = shard.min_version;
    }
  }
  std::map<int32_t, int64_t> versions;
};

void Describe(const ShardJob& job, const Hosting& hosting, int32_t tensor,
              v1::TensorInfo* info) {
  *info->mutable_spec() = job.resolved.tensors(tensor);
  for (const ChunkSpec& spec : job.layout.ChunksOfTensor(tensor)) {
    v1::ChunkInfo* chunk = info->add_chunks();
    chunk->set_chunk(spec.chunk);
    chunk->set_offset(spec.offset);
    chunk->set_count(spec.count);
    chunk->set_shard(spec.shard);
    const auto hosted = hosting.versions.find(spec.shard);
    chunk->set_hosted_here(hosted != hosting.versions.end());
    chunk->set_version(chunk->hosted_here() ? hosted->second : 0);
  }
}

}  // namespace

absl::Status ListTensors(const ShardHost& host,
                         const v1::ListTensorsRequest& request,
                         v1::ListTensorsResponse* response) {
  SELARI_ASSIGN_OR_RETURN(const auto job, JobOf(host));
  const int32_t tensor_count = job->layout.tensor_count();
  int32_t tensor = 0;
  if (!request.page_token().empty() &&
      (!absl::SimpleAtoi(request.page_token(), &tensor) || tensor < 0 ||
       tensor >= tensor_count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_token is no next_page_token of this job"));
  }
  response->set_job_id(job->resolved.job_id());
  const Hosting hosting(host);
  size_t chunk_count = 0;
  while (tensor < tensor_count) {
    const size_t of_tensor = job->layout.ChunksOfTensor(tensor).size();
    if (response->tensors_size() > 0 &&
        chunk_count + of_tensor > kPageChunksMax) {
      response->set_next_page_token(absl::StrCat(tensor));
      break;
    }
    Describe(*job, hosting, tensor, response->add_tensors());
    chunk_count += of_tensor;
    ++tensor;
  }
  return absl::OkStatus();
}

absl::Status GetTensor(const ShardHost& host, const std::string& name,
                       v1::GetTensorResponse* response) {
  SELARI_ASSIGN_OR_RETURN(const auto job, JobOf(host));
  SELARI_ASSIGN_OR_RETURN(const int32_t tensor, FindTensor(*job, name));
  Describe(*job, Hosting(host), tensor, response->mutable_tensor());
  return absl::OkStatus();
}

absl::StatusOr<TensorRange> FindRange(const ShardHost& host,
                                      const v1::PullTensorRequest& request) {
  TensorRange range;
  SELARI_ASSIGN_OR_RETURN(range.job, JobOf(host));
  SELARI_ASSIGN_OR_RETURN(range.tensor, FindTensor(*range.job, request.name()));
  const auto chunks = range.job->layout.ChunksOfTensor(range.tensor);
  const int64_t size = chunks.back().offset + chunks.back().count;
  if (request.min_version() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_version is ", request.min_version(), ", must not be negative"));
  }
  if (request.offset() < 0 || request.offset() >= size || request.count() < 0 ||
      request.count() > size - request.offset()) {
    return absl::OutOfRangeError(absl::StrCat(
        "tensor \"", request.name(), "\" has ", size, " elements, not ",
        request.count(), " from ", request.offset()));
  }
  range.begin = request.offset();
  range.end = request.count() == 0 ? size : request.offset() + request.count();
  if (range.end - range.begin > kPullCountMax) {
    return absl::OutOfRangeError(absl::StrCat(
        range.end - range.begin, " elements of tensor \"", request.name(),
        "\" are wanted; one call gives at most ", kPullCountMax));
  }
  const std::vector<int32_t> shards = host.shards();
  for (const ChunkSpec& chunk : chunks) {
    if (chunk.offset < range.end && chunk.offset + chunk.count > range.begin &&
        std::find(shards.begin(), shards.end(), chunk.shard) != shards.end()) {
      range.chunks.push_back(chunk);
    }
  }
  if (range.chunks.empty()) {
    return WithReason(
        absl::FailedPreconditionError(
            absl::StrCat("no part of elements ", range.begin, " to ", range.end,
                         " of tensor \"", request.name(), "\" is hosted here")),
        ErrorReason::kWrongShard);
  }
  return range;
}

std::vector<ShardRequest> PullsOf(const TensorRange& range,
                                  int64_t min_version) {
  std::vector<ShardRequest> pulls;
  for (const ChunkSpec& chunk : range.chunks) {
    pulls.push_back(ChunkPull{chunk.chunk, min_version, 0});
  }
  return pulls;
}

absl::Status FillPieces(const TensorRange& range,
                        const std::vector<ShardReply>& replies,
                        v1::PullTensorResponse* response) {
  std::map<int32_t, const ChunkValue*> values;
  for (const ShardReply& reply : replies) {
    if (const auto* value = std::get_if<ChunkValue>(&reply)) {
      values[value->chunk] = value;
    }
  }
  *response->mutable_spec() = range.job->resolved.tensors(range.tensor);
  for (const ChunkSpec& chunk : range.chunks) {
    const auto value = values.find(chunk.chunk);
    if (value == values.end() || value->second->weights.size() != chunk.count) {
      return absl::InternalError(
          absl::StrCat("chunk ", chunk.chunk, " was not answered in full"));
    }
    const int64_t begin = std::max(range.begin, chunk.offset);
    const int64_t end = std::min(range.end, chunk.offset + chunk.count);
    v1::TensorPiece* piece = response->add_pieces();
    piece->set_offset(begin);
    piece->set_count(end - begin);
    piece->set_version(value->second->version);
    piece->set_data(value->second->weights.data() + (begin - chunk.offset),
                    (end - begin) * sizeof(float));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ShardRequest>> PushesOf(
    const ShardHost& host,
    const std::shared_ptr<const v1::PushGradientRequest>& request) {
  SELARI_ASSIGN_OR_RETURN(const auto job, JobOf(host));
  SELARI_RETURN_IF_ERROR(
      CheckCaller(job.get(), request->job_id(),
                  {request->worker_id(), request->worker_incarnation()}));
  if (request->pushes().empty()) {
    return absl::InvalidArgumentError("the request has no pushes");
  }
  if (!ReductionRoundsOfJob(job->resolved.job()).empty()) {
    return absl::FailedPreconditionError(
        "this job's norms (clip_global_norm, LAMB) are of the whole model: "
        "workers exchange sums for them on StreamParameters, which "
        "PushGradient cannot; push there");
  }
  std::vector<ShardRequest> pushes;
  for (const v1::ChunkPush& message : request->pushes()) {
    SELARI_ASSIGN_OR_RETURN(ChunkPush push, FromProto(message, request));
    pushes.push_back(std::move(push));
  }
  return pushes;
}

absl::Status FillAcks(const v1::PushGradientRequest& request,
                      const std::vector<ShardReply>& replies,
                      v1::PushGradientResponse* response) {
  std::map<std::pair<int32_t, int64_t>, const PushAck*> acks;
  for (const ShardReply& reply : replies) {
    if (const auto* ack = std::get_if<PushAck>(&reply)) {
      acks[{ack->chunk, ack->sequence}] = ack;
    }
  }
  for (const v1::ChunkPush& push : request.pushes()) {
    const auto ack = acks.find({push.chunk(), push.sequence()});
    if (ack == acks.end()) {
      return absl::InternalError(absl::StrCat("push ", push.sequence(),
                                              " of chunk ", push.chunk(),
                                              " was not acknowledged"));
    }
    *response->add_acks() = ToProto(*ack->second);
  }
  return absl::OkStatus();
}

}  // namespace selari
