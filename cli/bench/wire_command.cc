// `selari bench wire`.

#include <cstdio>
#include <memory>
#include <string>

#include "cli/bench/bench_commands.h"
#include "cli/bench/peer_process.h"
#include "cli/bench/wire_benchmark.h"
#include "cli/bench/wire_peer.h"
#include "cli/bench/wire_report.h"
#include "cli/exit_code.h"
#include "cli/print_error.h"
#include "cli/signals.h"
#include "cli/this_program.h"
#include "common/clock.h"
#include "common/status.h"

namespace selari {
namespace {

WireOptions OptionsOf(const BenchWireCommand& command) {
  WireOptions options;
  options.shape.floats = (command.megabytes << 20) / int64_t{sizeof(float)};
  options.shape.workers = command.workers;
  options.shape.shards = command.shards;
  options.shape.optimizer =
      command.optimizer == "adam" ? WireOptimizer::kAdam : WireOptimizer::kSgd;
  options.transport.streams = command.streams;
  options.transport.frame_bytes = command.frame_kib << 10;
  options.transport.share_memory = !command.no_shared_memory;
  options.repeats = command.repeats;
  options.steps = command.steps;
  return options;
}

absl::Status Serve(const BenchWireCommand& command, Signals* signals) {
  SELARI_ASSIGN_OR_RETURN(const auto peer,
                          WirePeer::Start(command.listen, PrintNote));
  PrintNote(absl::StrCat(kPeerListensOn, peer->address(),
                         " and, for gRPC, the port after it; Ctrl-C ends it"));
  peer->Run(*signals->stop());
  return absl::OkStatus();
}

absl::Status Measure(const BenchWireCommand& command) {
  std::unique_ptr<PeerProcess> own_peer;
  std::string address = command.connect;
  if (address.empty()) {
    SELARI_ASSIGN_OR_RETURN(const std::string program, ThisProgram());
    SELARI_ASSIGN_OR_RETURN(own_peer, PeerProcess::Start(program));
    address = own_peer->address();
  }
  const auto progress = [](absl::string_view what) {
    PrintNote(absl::StrCat("bench wire: ", what));
  };
  absl::StatusOr<WireReport> report =
      MeasureWire(OptionsOf(command), address, progress);
  if (!report.ok()) {
    return own_peer != nullptr ? own_peer->Explain(report.status())
                               : report.status();
  }
  report->own_peer = own_peer != nullptr;
  const std::string text =
      command.json ? WireReportJson(*report) + "\n" : WireReportText(*report);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int RunBenchWireCommand(const BenchWireCommand& command) {
  absl::Status status;
  if (command.listen.empty()) {
    status = Measure(command);
  } else {
    const SystemClock clock;
    Signals signals(nullptr, &clock);
    status = Serve(command, &signals);
  }
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

}  // namespace selari
