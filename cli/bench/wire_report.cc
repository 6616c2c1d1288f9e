#include "cli/bench/wire_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json_line.h"
#include "common/human.h"
#include "common/version.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using Json = nlohmann::ordered_json;

const char* OptimizerName(WireOptimizer optimizer) {
  return optimizer == WireOptimizer::kAdam ? "adam" : "sgd";
}

double Ratio(double value, double limit) {
  return limit > 0 ? value / limit : 0;
}

std::string Rate(double bytes_per_second) {
  return absl::StrFormat("%.2f GB/s", bytes_per_second * 1e-9);
}

std::string Rates(const Spread& rate) {
  return absl::StrFormat("%s (%.2f-%.2f)", Rate(rate.median), rate.min * 1e-9,
                         rate.max * 1e-9);
}

const char* KindTitle(WireKind kind) {
  switch (kind) {
    case WireKind::kPushApply:
      return "push+apply";
    case WireKind::kPull:
      return "pull";
    default:
      return "both";
  }
}

std::string HeadText(const WireReport& report) {
  const WireShape& shape = report.options.shape;
  return absl::StrFormat(
      "%s of fp32 weights, %s, %d worker%s, %d shards; medians of %d "
      "(min-max)\n"
      "peer %s%s\n"
      "tensors pass through %s\n",
      HumanBytes(shape.bytes()), OptimizerName(shape.optimizer), shape.workers,
      shape.workers == 1 ? "" : "s", shape.shards, report.options.repeats,
      report.peer, report.own_peer ? ", a second process here" : "",
      report.shares_memory ? "shared memory" : "gRPC messages");
}

std::string KindsText(const WireReport& report) {
  std::string text =
      absl::StrFormat("\n%-12s%-25s%-20s%-25s%s\n", "", "selari",
                      "share of raw TCP", "raw TCP", "bare gRPC");
  for (const WireKindResult& kind : report.kinds) {
    absl::StrAppend(
        &text,
        absl::StrFormat("%-12s%-25s%-20s%-25s%s\n", KindTitle(kind.kind),
                        Rates(kind.selari),
                        absl::StrFormat("%.2f (%.2f-%.2f)", kind.ratio.median,
                                        kind.ratio.min, kind.ratio.max),
                        Rates(kind.raw), Rates(kind.grpc)));
  }
  absl::StrAppend(
      &text,
      "both counts the bytes of both directions; bare gRPC sends the same 2 "
      "MiB again and again, and applies nothing\n");
  for (const WireKindResult& kind : report.kinds) {
    absl::StrAppend(&text, "fastest for ", KindTitle(kind.kind), ": ",
                    kind.raw_name, "\n");
  }
  return text;
}

std::string LatencyRow(const char* name, const StepTimes& times,
                       const StepTimes& grpc) {
  return absl::StrFormat("%-12s%8.0f us  %8.0f us   %.2f and %.2f\n", name,
                         times.p50_us, times.p99_us,
                         Ratio(times.p50_us, grpc.p50_us),
                         Ratio(times.p99_us, grpc.p99_us));
}

std::string LatencyText(const WireLatency& latency) {
  if (latency.steps == 0) {
    return "";
  }
  std::string text = absl::StrFormat(
      "\none step of a model of %s, %d steps each\n%-12s%11s  %11s   %s\n",
      HumanBytes(latency.bytes), latency.steps, "", "p50", "p99",
      "times bare gRPC");
  absl::StrAppend(&text, LatencyRow("selari", latency.selari, latency.grpc),
                  LatencyRow("bare gRPC", latency.grpc, latency.grpc),
                  LatencyRow("raw TCP", latency.raw, latency.grpc));
  return text;
}

// What the client lends is counted there.
int64_t ServerPeak(const WireMemory& memory) {
  return memory.server.rss_peak_bytes - memory.server.rss_shared_bytes;
}

std::string MemoryText(const WireMemory& memory) {
  const int64_t server_least =
      memory.server_weights_bytes + memory.server_slots_bytes;
  const int64_t client_least =
      memory.client_weights_bytes + memory.client_gradients_bytes;
  return absl::StrFormat(
      "\nresident memory\n"
      "server      %s at most, %s now; weights %s, slots %s: %.2f times%s\n"
      "client      %s at most, %s now; weights %s, gradients %s: %.2f times\n",
      HumanBytes(ServerPeak(memory)),
      HumanBytes(memory.server.rss_bytes - memory.server.rss_shared_bytes),
      HumanBytes(memory.server_weights_bytes),
      HumanBytes(memory.server_slots_bytes),
      Ratio(static_cast<double>(ServerPeak(memory)),
            static_cast<double>(server_least)),
      memory.server.rss_shared_bytes > 0
          ? absl::StrCat(", without ",
                         HumanBytes(memory.server.rss_shared_bytes),
                         " that the client lends")
          : "",
      HumanBytes(memory.client.rss_peak_bytes),
      HumanBytes(memory.client.rss_bytes),
      HumanBytes(memory.client_weights_bytes),
      HumanBytes(memory.client_gradients_bytes),
      Ratio(static_cast<double>(memory.client.rss_peak_bytes),
            static_cast<double>(client_least)));
}

Json SpreadJson(const Spread& spread) {
  return {{"median", JsonNumber(spread.median)},
          {"min", JsonNumber(spread.min)},
          {"max", JsonNumber(spread.max)}};
}

Json KindJson(const WireKindResult& kind) {
  return {{"bytes_per_second", JsonNumber(kind.selari.median)},
          {"raw_tcp_bytes_per_second", JsonNumber(kind.raw.median)},
          {"ratio", JsonNumber(kind.ratio.median)},
          {"ratio_min", JsonNumber(kind.ratio.min)},
          {"ratio_max", JsonNumber(kind.ratio.max)},
          {"grpc_bytes_per_second", JsonNumber(kind.grpc.median)},
          {"spread",
           {{"selari", SpreadJson(kind.selari)},
            {"raw_tcp", SpreadJson(kind.raw)},
            {"grpc", SpreadJson(kind.grpc)}}},
          {"raw_tcp_manner", kind.raw_name}};
}

Json TimesJson(const StepTimes& times) {
  return {{"p50_us", JsonNumber(times.p50_us)},
          {"p99_us", JsonNumber(times.p99_us)}};
}

Json LatencyJson(const WireLatency& latency) {
  return {{"steps", latency.steps},
          {"bytes", latency.bytes},
          {"selari", TimesJson(latency.selari)},
          {"grpc", TimesJson(latency.grpc)},
          {"raw_tcp", TimesJson(latency.raw)},
          {"p50_ratio_to_grpc",
           JsonNumber(Ratio(latency.selari.p50_us, latency.grpc.p50_us))},
          {"p99_ratio_to_grpc",
           JsonNumber(Ratio(latency.selari.p99_us, latency.grpc.p99_us))}};
}

Json MemoryJson(const WireMemory& memory) {
  return {{"server",
           {{"vm_hwm_bytes", memory.server.rss_peak_bytes},
            {"vm_rss_bytes", memory.server.rss_bytes},
            {"lent_bytes", memory.server.rss_shared_bytes},
            {"weights_bytes", memory.server_weights_bytes},
            {"slots_bytes", memory.server_slots_bytes}}},
          {"client",
           {{"vm_hwm_bytes", memory.client.rss_peak_bytes},
            {"vm_rss_bytes", memory.client.rss_bytes},
            {"weights_bytes", memory.client_weights_bytes},
            {"gradients_bytes", memory.client_gradients_bytes}}}};
}

}  // namespace

std::string WireReportText(const WireReport& report) {
  return absl::StrCat(HeadText(report), KindsText(report),
                      LatencyText(report.latency), MemoryText(report.memory),
                      "\nall weights as expected, to the bit: ",
                      HumanBytes(report.checked_bytes), " compared in ",
                      report.checks, " checks\n");
}

std::string WireReportJson(const WireReport& report) {
  Json json;
  for (const WireKindResult& kind : report.kinds) {
    json[WireKindName(kind.kind)] = KindJson(kind);
  }
  json["step_latency"] = LatencyJson(report.latency);
  json["memory"] = MemoryJson(report.memory);
  json["checked"] = {{"comparisons", report.checks},
                     {"bytes", report.checked_bytes},
                     {"mismatches", 0}};
  const WireShape& shape = report.options.shape;
  json["parameters"] = {{"model_bytes", shape.bytes()},
                        {"optimizer", OptimizerName(shape.optimizer)},
                        {"workers", shape.workers},
                        {"shards", shape.shards},
                        {"repeats", report.options.repeats},
                        {"streams", report.options.transport.streams},
                        {"frame_bytes", report.options.transport.frame_bytes},
                        {"shared_memory", report.shares_memory},
                        {"peer", report.peer},
                        {"own_peer", report.own_peer},
                        {"version", kVersion}};
  return json.dump();
}

}  // namespace selari
