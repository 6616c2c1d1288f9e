#include "cli/bench/wire_benchmark.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cli/bench/step_latency.h"
#include "cli/bench/wire_session.h"
#include "common/status.h"

namespace selari {
namespace {

class WireBenchmark {
 public:
  WireBenchmark(const WireOptions& options, std::string address,
                std::function<void(absl::string_view)> progress)
      : options_(options),
        address_(std::move(address)),
        progress_(std::move(progress)) {
    report_.options = options;
    report_.peer = address_;
  }

  absl::StatusOr<WireReport> Run() {
    SELARI_RETURN_IF_ERROR(CheckFreeMemory(MemoryNeed(), "the benchmark"));
    SELARI_RETURN_IF_ERROR(MeasureLargeModel());
    if (options_.steps > 0) {
      Tell("single steps of a small model");
      SELARI_ASSIGN_OR_RETURN(
          report_.latency,
          MeasureStepLatency(address_, options_.step_floats, options_.steps,
                             options_.shape.shards));
    }
    return report_;
  }

 private:
  // One way of the rounds, and what it has shown.
  struct Entry {
    std::unique_ptr<WireWay> way;
    std::map<WireKind, std::vector<double>> rates;  // bytes per second
  };

  void Tell(absl::string_view what) const {
    if (progress_ != nullptr) {
      progress_(what);
    }
  }

  // Gradients and received weights, for the product and for raw TCP.
  int64_t MemoryNeed() const {
    constexpr int64_t kRest = int64_t{64} << 20;
    return options_.shape.bytes() * options_.shape.workers * 4 + kRest;
  }

  absl::Status MeasureLargeModel() {
    SELARI_ASSIGN_OR_RETURN(const auto session,
                            WireSession::Open(address_, options_.shape));
    ResetMemoryPeak();
    SELARI_RETURN_IF_ERROR(AddSelari(session.get()));
    for (int32_t worker = 0; worker < options_.shape.workers; ++worker) {
      gradients_.push_back(MakeWireGradient(options_.shape, worker));
    }
    SELARI_RETURN_IF_ERROR(AddOthers(session.get()));
    // Round 0 warms up.
    for (int32_t round = 0; round <= options_.repeats; ++round) {
      Tell(absl::StrCat("round ", round, " of ", options_.repeats,
                        round == 0 ? ", to warm up" : ""));
      SELARI_RETURN_IF_ERROR(RunRound(round));
    }
    for (const WireKind kind : kWireKinds) {
      report_.kinds.push_back(Evaluate(kind));
    }
    entries_.clear();
    gradients_.clear();
    return session->Close();
  }

  absl::Status AddSelari(WireSession* session) {
    Tell("memory");
    SELARI_ASSIGN_OR_RETURN(auto way,
                            MakeSelariWay(session, options_.transport));
    for (const WireKind kind : kWireKinds) {
      SELARI_RETURN_IF_ERROR(way->Run(kind).status());
      SELARI_RETURN_IF_ERROR(Check(way.get()));
    }
    report_.shares_memory = way->SharesMemory();
    WireMemory& memory = report_.memory;
    SELARI_ASSIGN_OR_RETURN(memory.server, session->PeerMemory());
    memory.client = ReadProcessMemory();
    memory.server_weights_bytes = options_.shape.bytes();
    memory.server_slots_bytes = options_.shape.bytes() * options_.shape.slots();
    memory.client_weights_bytes =
        options_.shape.bytes() * options_.shape.workers;
    memory.client_gradients_bytes = memory.client_weights_bytes;
    entries_.push_back({std::move(way), {}});
    return absl::OkStatus();
  }

  absl::Status AddOthers(WireSession* session) {
    entries_.push_back({MakeGrpcWay(session), {}});
    SELARI_ASSIGN_OR_RETURN(auto ways, MakeRawWays(session, gradients_));
    for (auto& way : ways) {
      entries_.push_back({std::move(way), {}});
    }
    return absl::OkStatus();
  }

  absl::Status RunRound(int32_t round) {
    for (const Entry& entry : entries_) {
      SELARI_RETURN_IF_ERROR(entry.way->BeginRound());
    }
    for (const WireKind kind : kWireKinds) {
      const int64_t bytes = options_.shape.bytes() * options_.shape.workers *
                            (kind == WireKind::kBoth ? 2 : 1);
      for (size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry =
            entries_[(i + static_cast<size_t>(round)) % entries_.size()];
        if (!entry.way->Does(kind)) {
          continue;
        }
        SELARI_ASSIGN_OR_RETURN(const double seconds, entry.way->Run(kind));
        SELARI_RETURN_IF_ERROR(Check(entry.way.get()));
        if (round > 0) {
          entry.rates[kind].push_back(static_cast<double>(bytes) / seconds);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Check(WireWay* way) {
    const absl::StatusOr<int64_t> bytes = way->Check();
    if (!bytes.ok()) {
      return Annotate(bytes.status(), way->Name());
    }
    report_.checks += *bytes > 0 ? 1 : 0;
    report_.checked_bytes += *bytes;
    return absl::OkStatus();
  }

  // Entry 0 is selari, 1 bare gRPC, the rest raw TCP.
  WireKindResult Evaluate(WireKind kind) {
    WireKindResult result;
    result.kind = kind;
    result.selari = SpreadOf(entries_[0].rates[kind]);
    result.grpc = SpreadOf(entries_[1].rates[kind]);
    const std::vector<double>* fastest = nullptr;
    for (size_t i = 2; i < entries_.size(); ++i) {
      const std::vector<double>& rates = entries_[i].rates[kind];
      if (!rates.empty() && SpreadOf(rates).median > result.raw.median) {
        result.raw = SpreadOf(rates);
        result.raw_name = entries_[i].way->Name();
        fastest = &rates;
      }
    }
    std::vector<double> ratios;
    for (size_t round = 0; round < fastest->size(); ++round) {
      ratios.push_back(entries_[0].rates[kind][round] / (*fastest)[round]);
    }
    result.ratio = SpreadOf(ratios);
    result.ratio.median = result.selari.median / result.raw.median;
    return result;
  }

  const WireOptions options_;
  const std::string address_;
  const std::function<void(absl::string_view)> progress_;
  std::vector<RawClient::Tensors> gradients_;  // by worker
  std::vector<Entry> entries_;
  WireReport report_;
};

}  // namespace

absl::StatusOr<WireReport> MeasureWire(
    const WireOptions& options, const std::string& address,
    const std::function<void(absl::string_view)>& progress) {
  return WireBenchmark(options, address, progress).Run();
}

}  // namespace selari
