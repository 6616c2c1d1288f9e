#include "cli/train_view.h"

#include <cmath>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using MakeView = std::unique_ptr<TrainView> (*)(std::FILE*);

// What a view prints while `use` drives it.
template <class Use>
std::string Printed(MakeView make, Use use) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  {
    const std::unique_ptr<TrainView> view = make(out);
    use(view.get());
  }
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

TrainProgress Progress() {
  TrainProgress progress;
  progress.step = 50;
  progress.total_steps = 200;
  progress.samples_per_second = 12345;
  progress.loss = 0.25;
  progress.accuracy = 0.875;
  progress.seconds_left = 12;
  progress.bytes_pushed = 4000;
  progress.bytes_pulled = 5000000;
  return progress;
}

TrainSummary Summary() {
  TrainSummary summary;
  summary.state = v1::JOB_STATE_DONE;
  summary.has_test = true;
  summary.test.set_accuracy(0.89);
  summary.test.set_loss(0.3);
  summary.test.set_step(200);
  summary.digest = "abc";
  summary.steps = 200;
  summary.samples_per_second = 1000;
  summary.checkpoint = "run/checkpoints/step-000000000200";
  summary.output = "run";
  v1::MemberStatus worker;
  worker.set_member_id(1);
  worker.mutable_totals()->set_compute_us(750000);
  worker.mutable_totals()->set_pull_wait_us(250000);
  summary.workers.push_back(worker);
  return summary;
}

TEST(PlainViewTest, AnEvaluationOfAnotherStepSaysSo) {
  TrainSummary summary = Summary();
  const auto show = [&](TrainView* view) { view->OnSummary(summary); };
  EXPECT_THAT(Printed(MakePlainView, show), Not(HasSubstr("as of step")));
  summary.state = v1::JOB_STATE_STOPPED;
  summary.test.set_step(150);
  EXPECT_THAT(Printed(MakePlainView, show), HasSubstr("as of step 150"));
  EXPECT_THAT(Printed(MakeJsonView, show), HasSubstr("\"test_step\":150"));
}

TEST(PlainViewTest, EveryNumberHasAUnit) {
  const std::string text =
      Printed(MakePlainView, [](TrainView* view) { view->OnStep(Progress()); });
  EXPECT_EQ(text,
            "step 50/200  12.3 k samples/s  loss 0.2500  accuracy 0.8750  "
            "12 s left  pushed 4.0 kB  pulled 5.0 MB\n");
}

TEST(PlainViewTest, TheStartSaysWhereTheCoordinatorIsIfThereIsOne) {
  EXPECT_EQ(Printed(MakePlainView,
                    [](TrainView* view) {
                      view->OnStart({"j", "2 servers", "run", "h:7070"});
                    }),
            "job j: 2 servers; output in run\n"
            "coordinator of job j on h:7070\n");
  EXPECT_EQ(Printed(MakePlainView,
                    [](TrainView* view) {
                      view->OnStart({"j", "1 process", "run", ""});
                    }),
            "job j: 1 process; output in run\n");
}

TEST(PlainViewTest, ARegressionHasNoAccuracy) {
  const std::string text = Printed(MakePlainView, [](TrainView* view) {
    TrainProgress progress = Progress();
    progress.accuracy = std::nullopt;
    view->OnStep(progress);
    TrainSummary summary = Summary();
    summary.test.clear_accuracy();
    view->OnEvaluation(summary.test);
    view->OnSummary(summary);
  });
  EXPECT_EQ(text.find("accuracy"), std::string::npos) << text;
}

TEST(PlainViewTest, TheSummarySaysWhereTheTimeWentAndTheCheckpointIs) {
  const std::string text = Printed(
      MakePlainView, [](TrainView* view) { view->OnSummary(Summary()); });
  for (const char* part :
       {"done, 200 steps", "accuracy 0.8900",
        "compute 75 %, waiting for weights 25 %, pushing 0 %",
        "run/checkpoints/step-000000000200", "abc"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(PlainViewTest, WhatIsNotKnownIsNotShown) {
  const std::string text = Printed(MakePlainView, [](TrainView* view) {
    TrainProgress progress = Progress();
    progress.samples_per_second = -1;
    progress.seconds_left = -1;
    view->OnStep(progress);
  });
  EXPECT_EQ(text,
            "step 50/200  loss 0.2500  accuracy 0.8750  pushed 4.0 kB  pulled "
            "5.0 MB\n");
}

TEST(PlainViewTest, NothingIsNoughtThatNobodyReported) {
  TrainProgress progress;
  progress.step = 3;
  EXPECT_EQ(Printed(MakeLiveView,
                    [&](TrainView* view) { view->OnProgress(progress); }),
            "\r\x1b[?7lstep 3\x1b[K\x1b[?7h");
  TrainSummary summary = Summary();
  summary.workers[0].clear_totals();
  const std::string text = Printed(
      MakePlainView, [&](TrainView* view) { view->OnSummary(summary); });
  EXPECT_NE(text.find("worker 1    reported neither samples nor times\n"),
            std::string::npos)
      << text;
  const std::string json =
      Printed(MakeJsonView, [&](TrainView* view) { view->OnSummary(summary); });
  EXPECT_NE(json.find("\"worker\":1,\"samples\":null"), std::string::npos)
      << json;
}

TEST(PlainViewTest, AFailedRunSaysHowToGoOn) {
  const std::string text = Printed(MakePlainView, [](TrainView* view) {
    TrainSummary summary = Summary();
    summary.state = v1::JOB_STATE_FAILED;
    summary.message = "a long reason, which standard error has";
    summary.resume_command = "selari train job --output run --resume";
    view->OnSummary(summary);
  });
  EXPECT_NE(text.find("go on with  selari train job --output run --resume\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("a long reason"), std::string::npos) << text;
}

TEST(LiveViewTest, RewritesOneLineAndScrollsTheRest) {
  const std::string text = Printed(MakeLiveView, [](TrainView* view) {
    view->OnProgress(Progress());
    view->OnProgress(Progress());
    view->OnNote("server 1 is late");
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find("server 1 is late\n"), std::string::npos);
}

TEST(JsonViewTest, EachLineIsAnObjectAndTheLastIsTheSummary) {
  const std::string text = Printed(MakeJsonView, [](TrainView* view) {
    view->OnStart({"job", "1 process", "run", ""});
    view->OnStart({"job", "1 server, 1 worker", "run", "127.0.0.1:7070"});
    view->OnNote("a \"note\"\n\xff");
    TrainProgress progress = Progress();
    progress.loss = std::nan("");
    view->OnStep(progress);
    view->OnSummary(Summary());
  });
  std::vector<Json> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    events.push_back(Json::parse(line, nullptr, false));
    ASSERT_TRUE(events.back().is_object()) << line;
  }
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(events[0]["coordinator"].is_null());
  EXPECT_EQ(events[1]["coordinator"], "127.0.0.1:7070");
  events.erase(events.begin());
  EXPECT_TRUE(events[2]["loss"].is_null());
  EXPECT_EQ(events[3]["event"], "summary");
  EXPECT_EQ(events[3]["test_accuracy"], 0.89);
  EXPECT_EQ(events[3]["test_loss"], 0.3);
  EXPECT_EQ(events[3]["digest"], "abc");
  EXPECT_EQ(events[3]["steps"], 200);
  EXPECT_EQ(events[3]["checkpoint"], "run/checkpoints/step-000000000200");
}

}  // namespace
}  // namespace selari
