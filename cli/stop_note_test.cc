#include "cli/stop_note.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::ResolvedJob Job(v1::Consistency mode) {
  v1::ResolvedJob job;
  job.set_total_steps(1000);
  job.mutable_job()->mutable_consistency()->set_mode(mode);
  return job;
}

TEST(StopNoteTest, AJobStopsAfterTheStepItIsIn) {
  v1::ResolvedJob job = Job(v1::CONSISTENCY_SYNC);
  EXPECT_THAT(StopNote(job), StartsWith("stopping after this step"));
  EXPECT_THAT(StopNote(job), HasSubstr("press Ctrl-C again"));
  job.mutable_job()->mutable_compression()->set_reset_every_steps(1);
  EXPECT_THAT(StopNote(job), StartsWith("stopping after this step"));
  job = Job(v1::CONSISTENCY_ASYNC);
  job.mutable_job()->mutable_compression()->set_reset_every_steps(50);
  EXPECT_THAT(StopNote(job), StartsWith("stopping after this step"));
}

TEST(StopNoteTest, ACompressedOneGoesOnUntilNothingIsHeldBack) {
  v1::ResolvedJob job = Job(v1::CONSISTENCY_SYNC);
  job.mutable_job()->mutable_compression()->set_reset_every_steps(50);
  EXPECT_THAT(StopNote(job), HasSubstr("at the next step that is a multiple of "
                                       "50 (compression.reset_every_steps)"));
  EXPECT_THAT(StopNote(job), HasSubstr("press Ctrl-C again"));
}

}  // namespace
}  // namespace selari
