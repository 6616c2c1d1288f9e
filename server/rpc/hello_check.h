// Who may open a stream, and with what window. Knows no gRPC.
//
// Pure functions: safe from any thread.

#ifndef SELARI_SERVER_RPC_HELLO_CHECK_H_
#define SELARI_SERVER_RPC_HELLO_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/shard_message.h"
#include "server/shard/shard_job.h"

namespace selari {

// `job` null: the server has no shards yet. UNAVAILABLE with NOT_INITIALIZED
// (no shards yet: retry), FAILED_PRECONDITION with WRONG_JOB,
// INVALID_ARGUMENT (worker out of range, incarnation 0).
absl::Status CheckCaller(const ShardJob* job, const std::string& job_id,
                         const WorkerIdentity& worker);

// Gradient bytes that one worker may have unacknowledged at a server of these
// shards. Never less than one step of a worker: with a norm over the whole
// model no push is applied, so none acknowledged, before all have come.
int64_t WindowBytes(const ShardJob& job, const std::vector<int32_t>& shards);

}  // namespace selari

#endif  // SELARI_SERVER_RPC_HELLO_CHECK_H_
