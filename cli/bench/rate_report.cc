#include "cli/bench/rate_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json_line.h"
#include "common/version.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using Json = nlohmann::ordered_json;

const char* UnitText(RateUnit unit) {
  return unit == RateUnit::kBytes ? "GB/s" : "Gflop/s";
}

const char* UnitName(RateUnit unit) {
  return unit == RateUnit::kBytes ? "bytes_per_second" : "flops_per_second";
}

std::string RowText(const RateResult& row, bool is_limit) {
  const std::string rate = absl::StrFormat(
      "%.2f %s (%.2f-%.2f)", row.rate.median * 1e-9, UnitText(row.unit),
      row.rate.min * 1e-9, row.rate.max * 1e-9);
  const std::string ratio =
      is_limit ? "the limit"
               : absl::StrFormat("%.2f (%.2f-%.2f)", row.ratio.median,
                                 row.ratio.min, row.ratio.max);
  return absl::StrFormat("%-28s%-34s%s\n", row.name, rate, ratio);
}

Json RowJson(const RateResult& row, bool is_limit) {
  Json json = {{UnitName(row.unit), JsonNumber(row.rate.median)}};
  if (!is_limit) {
    json["ratio"] = JsonNumber(row.ratio.median);
    json["ratio_min"] = JsonNumber(row.ratio.min);
    json["ratio_max"] = JsonNumber(row.ratio.max);
  }
  json["min"] = JsonNumber(row.rate.min);
  json["max"] = JsonNumber(row.rate.max);
  return json;
}

}  // namespace

std::string RateReportText(const RateReport& report) {
  std::string text = absl::StrCat(report.about, "; medians of ", report.repeats,
                                  " (min-max)\n");
  for (const auto& [name, value] : report.parameters) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      absl::StrAppend(&text, name, " ", *number, "\n");
    } else {
      absl::StrAppend(&text, name, " ", std::get<std::string>(value), "\n");
    }
  }
  absl::StrAppendFormat(&text, "\n%-28s%-34s%s\n", "", "rate",
                        "share of the limit");
  for (const RateResult& limit : report.limits) {
    text += RowText(limit, /*is_limit=*/true);
  }
  for (const RateResult& result : report.results) {
    text += RowText(result, /*is_limit=*/false);
  }
  return text;
}

std::string RateReportJson(const RateReport& report) {
  Json json;
  json["limits"] = Json::object();
  for (const RateResult& limit : report.limits) {
    json["limits"][limit.name] = RowJson(limit, /*is_limit=*/true);
  }
  json[report.group] = Json::object();
  for (const RateResult& result : report.results) {
    json[report.group][result.name] = RowJson(result, /*is_limit=*/false);
  }
  json["parameters"] = Json::object();
  for (const auto& [name, value] : report.parameters) {
    std::visit(
        [&, &name = name](const auto& of) { json["parameters"][name] = of; },
        value);
  }
  json["parameters"]["repeats"] = report.repeats;
  json["parameters"]["version"] = kVersion;
  return json.dump();
}

}  // namespace selari
