// The views for people: live and plain.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/train_view.h"
#include "common/human.h"
#include "common/printable.h"

namespace selari {
namespace {

std::string ProgressText(const TrainProgress& p) {
  std::string text = absl::StrCat("step ", p.step);
  if (p.total_steps > 0) {
    absl::StrAppend(&text, "/", p.total_steps);
  }
  if (p.samples_per_second >= 0) {
    absl::StrAppend(&text, "  ", HumanCount(p.samples_per_second),
                    " samples/s");
  }
  if (p.loss.has_value()) {
    absl::StrAppendFormat(&text, "  loss %.4f", *p.loss);
  }
  if (p.accuracy.has_value()) {
    absl::StrAppendFormat(&text, "  accuracy %.4f", *p.accuracy);
  }
  if (p.seconds_left >= 0) {
    absl::StrAppend(&text, "  ", HumanSeconds(p.seconds_left), " left");
  }
  if (p.bytes_pushed > 0 || p.bytes_pulled > 0) {
    absl::StrAppend(&text, "  pushed ", HumanBytes(p.bytes_pushed), "  pulled ",
                    HumanBytes(p.bytes_pulled));
  }
  return text;
}

std::string EvaluationText(const v1::Evaluation& e) {
  std::string text =
      absl::StrFormat("step %d  test loss %.4f", e.step(), e.loss());
  if (e.has_accuracy()) {
    absl::StrAppendFormat(&text, "  test accuracy %.4f", e.accuracy());
  }
  if (e.auc() > 0) {
    absl::StrAppendFormat(&text, "  test AUC %.4f", e.auc());
  }
  return absl::StrCat(text, "  (", e.samples(), " samples)");
}

// A worker's time, split into what it was spent on.
std::string WorkerText(const v1::MemberStatus& worker) {
  if (!worker.has_totals()) {
    return absl::StrCat("worker ", worker.member_id(),
                        "    reported neither samples nor times");
  }
  const v1::WorkerTotals& t = worker.totals();
  const double total_us = std::max<double>(
      1, static_cast<double>(t.compute_us() + t.pull_wait_us() +
                             t.push_wait_us()));
  return absl::StrFormat(
      "worker %d    %d samples, compute %.0f %%, waiting for weights %.0f %%, "
      "pushing %.0f %%, pushed %s, pulled %s%s",
      worker.member_id(), t.samples(), 100 * t.compute_us() / total_us,
      100 * t.pull_wait_us() / total_us, 100 * t.push_wait_us() / total_us,
      HumanBytes(t.bytes_pushed()), HumanBytes(t.bytes_pulled()),
      t.bytes_shared() > 0 ? absl::StrCat(", ", HumanBytes(t.bytes_shared()),
                                          " of it through shared memory")
                           : "");
}

std::string SummaryText(const TrainSummary& s) {
  std::string text;
  const auto add = [&text](absl::string_view name, absl::string_view value) {
    absl::StrAppendFormat(&text, "%-12s%s\n", name, Printable(value));
  };
  switch (s.state) {
    case v1::JOB_STATE_DONE:
      add("result", absl::StrCat("done, ", CountOf(s.steps, "step")));
      break;
    case v1::JOB_STATE_STOPPED:
      add("result",
          s.checkpoint.empty()
              ? std::string("stopped before anything was saved")
              : absl::StrCat("stopped after ", CountOf(s.steps, "step")));
      break;
    default:  // Why is told on standard error, once.
      add("result", absl::StrCat("failed after ", CountOf(s.steps, "step"),
                                 s.checkpoint.empty()
                                     ? ", before anything was saved (see "
                                       "checkpointing.every_steps)"
                                     : ""));
  }
  if (!s.resume_command.empty()) {
    add("go on with", s.resume_command);
  }
  if (s.has_test) {
    add("test",
        absl::StrCat(s.test.has_accuracy()
                         ? absl::StrFormat("accuracy %.4f, ", s.test.accuracy())
                         : "",
                     absl::StrFormat("loss %.4f, %d samples", s.test.loss(),
                                     s.test.samples()),
                     s.test.step() == s.steps
                         ? ""
                         : absl::StrCat(", as of step ", s.test.step())));
    if (s.test.auc() > 0) {
      add("", absl::StrFormat("AUC %.4f", s.test.auc()));
    }
  }
  add("time", absl::StrCat(HumanSeconds(s.seconds),
                           s.samples_per_second < 0
                               ? ""
                               : absl::StrCat(" in all, ",
                                              HumanCount(s.samples_per_second),
                                              " samples/s while training")));
  for (const v1::MemberStatus& worker : s.workers) {
    absl::StrAppend(&text, WorkerText(worker), "\n");
  }
  if (!s.checkpoint.empty()) {
    add("checkpoint", s.checkpoint);
    add("digest", s.digest);
  }
  add("output", s.output);
  return text;
}

class PlainView : public TrainView {
 public:
  explicit PlainView(std::FILE* out) : out_(out) {}

  void OnStart(const TrainStart& start) override {
    Line(absl::StrCat("job ", start.job_name, ": ", start.shape, "; output in ",
                      start.output));
    if (!start.coordinator.empty()) {
      Line(absl::StrCat("coordinator of job ", start.job_name, " on ",
                        start.coordinator));
    }
  }
  void OnNote(absl::string_view note) override { Line(note); }
  void OnProgress(const TrainProgress&) override {}
  void OnStep(const TrainProgress& progress) override {
    Line(ProgressText(progress));
  }
  void OnEvaluation(const v1::Evaluation& evaluation) override {
    Line(EvaluationText(evaluation));
  }
  void OnCheckpoint(absl::string_view folder, int64_t step) override {
    Line(absl::StrCat("step ", step, "  checkpoint in ", folder));
  }
  void OnSummary(const TrainSummary& summary) override {
    std::fputs(SummaryText(summary).c_str(), out_);
    std::fflush(out_);
  }

 protected:
  virtual void Line(absl::string_view line) {
    std::fprintf(out_, "%s\n", Printable(line).c_str());
    std::fflush(out_);
  }

  std::FILE* const out_;
};

// Shows progress in one line that it rewrites; everything else scrolls above.
class LiveView : public PlainView {
 public:
  explicit LiveView(std::FILE* out) : PlainView(out) {}

  void OnProgress(const TrainProgress& progress) override {
    live_ = ProgressText(progress);
    Draw();
  }
  void OnStep(const TrainProgress&) override {}
  void OnSummary(const TrainSummary& summary) override {
    Erase();
    live_.clear();
    PlainView::OnSummary(summary);
  }

 private:
  void Line(absl::string_view line) override {
    Erase();
    PlainView::Line(line);
    Draw();
  }
  // ESC [K clears the rest of the line, ESC [?7l keeps a long one from
  // wrapping (a wrapped line could not be rewritten).
  void Erase() { std::fputs("\r\x1b[K", out_); }
  void Draw() {
    if (!live_.empty()) {
      std::fprintf(out_, "\r\x1b[?7l%s\x1b[K\x1b[?7h", live_.c_str());
    }
    std::fflush(out_);
  }

  std::string live_;
};

}  // namespace

std::unique_ptr<TrainView> MakePlainView(std::FILE* out) {
  return std::make_unique<PlainView>(out);
}

std::unique_ptr<TrainView> MakeLiveView(std::FILE* out) {
  return std::make_unique<LiveView>(out);
}

}  // namespace selari
