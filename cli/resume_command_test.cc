#include "cli/resume_command.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(ResumeCommandTest, SaysAgainWhatTheRunWasTold) {
  JobOptions job;
  job.job_file = "my jobs/a.textproto";
  job.assignments = {"optimizer.learning_rate=0.1", "name='x'"};
  job.servers = 2;
  job.workers = 3;
  job.steps = 500;
  job.resume = true;
  EXPECT_EQ(ResumeCommand("train", job, "/out/run"),
            "selari train 'my jobs/a.textproto' "
            "--set optimizer.learning_rate=0.1 --set 'name='\\''x'\\''' "
            "--servers 2 --workers 3 --steps 500 --output /out/run --resume");
}

TEST(ResumeCommandTest, LeavesOutWhatTheJobFileSays) {
  JobOptions job;
  job.job_file = "a.textproto";
  job.centralised = true;
  job.program = "./selari";
  EXPECT_EQ(ResumeCommand("train", job, "out"),
            "./selari train a.textproto --centralised --output out --resume");
}

}  // namespace
}  // namespace selari
