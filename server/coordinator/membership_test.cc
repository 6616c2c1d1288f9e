#include "server/coordinator/membership.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

constexpr auto kServer = v1::MEMBER_KIND_SERVER;
constexpr auto kWorker = v1::MEMBER_KIND_WORKER;

Membership::Options TwoAndTwo() {
  Membership::Options options;
  options.servers = 2;
  options.workers = 2;
  options.lease_ms = 1000;
  options.now_ms = 500;
  return options;
}

TEST(MembershipTest, IdOfALiveMemberIsRefusedUntilItsLeaseEnds) {
  Membership membership(TwoAndTwo());
  ASSERT_EQ(*membership.Join(kServer, {1, 77, "a:1"}, 1000), 1);

  const auto second = membership.Join(kServer, {1, 78, "b:1"}, 1400);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(),
              HasSubstr("server 1 is there already at a:1, heard of 400 ms "
                        "ago; if it died, its place is free in 600 ms"));

  EXPECT_EQ(membership.ExpireLeases(2001).size(), 1u);
  EXPECT_EQ(*membership.Join(kServer, {1, 78, "b:1"}, 2001), 1);
}

TEST(MembershipTest, SameIncarnationMayJoinAgain) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 1000).ok());
  EXPECT_EQ(*membership.Join(kWorker, {0, 77, ""}, 1001), 0);
  EXPECT_EQ(*membership.Join(kWorker, {-1, 77, ""}, 1001), 0);
}

TEST(MembershipTest, BadCandidatesAreNamed) {
  Membership membership(TwoAndTwo());
  const auto out_of_range = membership.Join(kServer, {2, 77, "a:1"}, 0);
  EXPECT_EQ(out_of_range.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(out_of_range.status().message(),
              HasSubstr("server id 2: the job has 2 servers"));
  EXPECT_EQ(membership.Join(kServer, {-2, 77, "a:1"}, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(membership.Join(kServer, {0, 0, "a:1"}, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(membership.Join(kServer, {0, 77, ""}, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MembershipTest, ChoosesTheLowestFreeIdUntilThereIsNone) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 0).ok());
  EXPECT_EQ(*membership.Join(kWorker, {-1, 78, ""}, 0), 1);
  const auto third = membership.Join(kWorker, {-1, 79, ""}, 0);
  EXPECT_EQ(third.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(third.status().message(),
              HasSubstr("the job has its 2 workers already"));
}

TEST(MembershipTest, WithoutAFreeIdTheMostSilentMemberIsNamed) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kServer, {0, 77, "a:1"}, 1000).ok());
  ASSERT_TRUE(membership.Join(kServer, {1, 78, "b:1"}, 1000).ok());
  ASSERT_TRUE(membership.Renew(kServer, 0, 77, 1600).ok());
  EXPECT_EQ(membership.Join(kServer, {-1, 79, "c:1"}, 1700).status().message(),
            "the job has its 2 servers already; server 1 was heard of 700 ms "
            "ago; if it died, its place is free in 300 ms");
}

TEST(MembershipTest, LeaseIsKeptByRenewingAndEndsWithout) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 1000).ok());
  EXPECT_TRUE(membership.Renew(kWorker, 0, 77, 2000).ok());
  EXPECT_TRUE(membership.ExpireLeases(3000).empty());
  const auto expired = membership.ExpireLeases(3001);
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0]->missing_since_ms, 2000);
  EXPECT_EQ(membership.Renew(kWorker, 0, 77, 3002).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(membership.ExpireLeases(9000).empty());
}

TEST(MembershipTest, OldLifeCannotRenewOrLeaveForTheNewOne) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 0).ok());
  membership.ExpireLeases(5000);
  ASSERT_TRUE(membership.Join(kWorker, {0, 78, ""}, 5000).ok());
  EXPECT_EQ(membership.Renew(kWorker, 0, 77, 5001).code(),
            absl::StatusCode::kNotFound);
  membership.Leave(kWorker, 0, 77);
  EXPECT_TRUE(membership.members(kWorker)[0].alive);
}

TEST(MembershipTest, ARenewalBehindTheLastWordsNeitherFailsNorBringsBack) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 1000).ok());
  membership.Leave(kWorker, 0, 77);

  EXPECT_TRUE(membership.Renew(kWorker, 0, 77, 1100).ok());
  EXPECT_FALSE(membership.members(kWorker)[0].alive);
  EXPECT_TRUE(membership.members(kWorker)[0].left);
  EXPECT_TRUE(membership.ExpireLeases(9000).empty());
}

TEST(MembershipTest, WhoLeftIsNotMissing) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 0).ok());
  membership.Leave(kWorker, 0, 77);
  EXPECT_TRUE(membership.ExpireLeases(5000).empty());
  const auto missing = membership.Missing(kWorker);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0]->id, 1);
  EXPECT_EQ(missing[0]->missing_since_ms, 500);
}

TEST(MembershipTest, WhoIsKnownToBeDeadMakesRoomAtOnce) {
  Membership membership(TwoAndTwo());
  ASSERT_TRUE(membership.Join(kWorker, {0, 77, ""}, 600).ok());
  EXPECT_FALSE(membership.Join(kWorker, {0, 78, ""}, 700).ok());
  membership.EndLease(kWorker, 0, 700);
  EXPECT_EQ(membership.Missing(kWorker)[0]->missing_since_ms, 700);
  EXPECT_FALSE(membership.Renew(kWorker, 0, 77, 701).ok());
  EXPECT_TRUE(membership.Join(kWorker, {0, 78, ""}, 702).ok());
}

TEST(MembershipTest, OneMemberIsSingular) {
  Membership::Options options = TwoAndTwo();
  options.servers = 1;
  options.workers = 1;
  Membership membership(options);
  EXPECT_THAT(membership.Join(kWorker, {3, 77, ""}, 0).status().message(),
              HasSubstr("the job has 1 worker, so ids are 0 to 0"));
  ASSERT_TRUE(membership.Join(kWorker, {-1, 77, ""}, 0).ok());
  EXPECT_EQ(membership.Join(kWorker, {-1, 78, ""}, 0).status().message(),
            "the job has its 1 worker already; worker 0 was heard of 0 ms ago; "
            "if it died, its place is free in 1000 ms");
}

}  // namespace
}  // namespace selari
