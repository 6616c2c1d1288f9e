// RunServer: the whole life of one server process.
//
//   get the job from the coordinator, with retries -> listen (NOT_SERVING) ->
//   register -> host the shards that it assigns (SERVING) -> keep the lease ->
//   end when the job ends: NOT_SERVING, streams ended, exit.
//
// Told to stop, it has the coordinator save and stop the job, as no other
// server has its shards; so it ends as the job does.

#ifndef SELARI_SERVER_SERVER_PROCESS_H_
#define SELARI_SERVER_SERVER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/stop_token.h"

namespace selari {

struct ServerOptions {
  // host:port to listen on; port 0 lets the system choose.
  std::string listen_address = "127.0.0.1:0";
  // host:port under which workers and the coordinator reach this server.
  // Empty: the listening address with its real port; a host that means "any"
  // (0.0.0.0, [::]) is replaced by this machine's name.
  std::string advertise_address;
  // host:port of the coordinator. Needed.
  std::string coordinator_address;
  // In [0, cluster.servers), or -1: the coordinator chooses.
  int32_t server_id = -1;
  // Threads that run shards; 0: the job's cluster.server_threads.
  int32_t threads = 0;
  // How long to try to reach a coordinator that does not answer, at the start
  // and later, before giving up. > 0.
  int64_t coordinator_timeout_ms = 300'000;
  // How long open streams may take to end when the server stops. > 0.
  int64_t drain_timeout_ms = 5'000;

  // How long saving and stopping the job may take once `stop` asked for it,
  // before the server ends without. > 0.
  int64_t stop_timeout_ms = 60'000;

  // Null: runs until the job ends. Borrowed.
  const StopToken* stop = nullptr;
  // Told one sentence at a time, for people: what is waited for and since
  // when, what happened. Null: standard error. Called from any thread.
  std::function<void(absl::string_view)> log;
  // Called once with the address in use, before the server registers. May be
  // null.
  std::function<void(absl::string_view)> on_listening;
};

// Blocks until the process may exit. OK when the job was done or stopped, and
// when `stop` came before this server had any shards. Errors: ABORTED with the
// reason when the job failed; the reason
// of the coordinator's refusal (ALREADY_EXISTS: a live server has this id;
// FAILED_PRECONDITION: instruction set; INVALID_ARGUMENT: id out of range),
// FAILED_PRECONDITION when the address to listen on is in use,
// DEADLINE_EXCEEDED when the coordinator stays away, or why the job could not
// be stopped.
absl::Status RunServer(const ServerOptions& options);

}  // namespace selari

#endif  // SELARI_SERVER_SERVER_PROCESS_H_
