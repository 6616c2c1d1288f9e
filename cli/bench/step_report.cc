#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/bench/step_benchmark.h"
#include "cli/json_line.h"
#include "common/human.h"
#include "common/version.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using Json = nlohmann::ordered_json;

std::string Part(const char* name, double us, double all_us) {
  return absl::StrFormat("%-24s%10.0f us  %5.1f %%\n", name, us,
                         100 * us / all_us);
}

}  // namespace

std::string StepReportText(const StepReportSummary& report) {
  const Spread& rate = report.samples_per_second;
  const double all_us = report.compute_us + report.pull_wait_us +
                        report.push_wait_us + report.rest_us;
  return absl::StrCat(
      absl::StrFormat(
          "job %s: %s weights, batch %d, %d threads, %d steps\n\n", report.job,
          HumanCount(static_cast<double>(report.weights)), report.batch,
          report.options.threads, report.options.steps),
      absl::StrFormat("%.0f samples/s, median of %d parts (%.0f-%.0f)\n",
                      rate.median, report.options.repeats, rate.min, rate.max),
      absl::StrFormat("one step %.0f us p50, %.0f us p99\n\n",
                      report.step_p50_us, report.step_p99_us),
      "mean of a step\n",
      Part("forward and backward", report.compute_us, all_us),
      Part("waiting for weights", report.pull_wait_us, all_us),
      Part("blocked in pushing", report.push_wait_us, all_us),
      Part("the rest", report.rest_us, all_us),
      absl::StrFormat("\n%.2f cores busy, %.1f page faults a step\n",
                      report.cores_used, report.page_faults_per_step));
}

std::string StepReportJson(const StepReportSummary& report) {
  const Spread& rate = report.samples_per_second;
  const Json json = {
      {"samples_per_second",
       {{"median", JsonNumber(rate.median)},
        {"min", JsonNumber(rate.min)},
        {"max", JsonNumber(rate.max)}}},
      {"step",
       {{"p50_us", JsonNumber(report.step_p50_us)},
        {"p99_us", JsonNumber(report.step_p99_us)}}},
      {"mean_of_a_step",
       {{"compute_us", JsonNumber(report.compute_us)},
        {"pull_wait_us", JsonNumber(report.pull_wait_us)},
        {"push_wait_us", JsonNumber(report.push_wait_us)},
        {"rest_us", JsonNumber(report.rest_us)}}},
      {"cores_used", JsonNumber(report.cores_used)},
      {"page_faults_per_step", JsonNumber(report.page_faults_per_step)},
      {"parameters",
       {{"job", report.job},
        {"weights", report.weights},
        {"batch", report.batch},
        {"threads", report.options.threads},
        {"steps", report.options.steps},
        {"repeats", report.options.repeats},
        {"version", kVersion}}}};
  return json.dump();
}

}  // namespace selari
