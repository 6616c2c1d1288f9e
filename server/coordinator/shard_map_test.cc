#include "server/coordinator/shard_map.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;

TEST(ShardMapTest, ShardsGoRoundTheServers) {
  std::vector<Member> servers(3);
  for (int32_t id = 0; id < 3; ++id) {
    servers[id].id = id;
    servers[id].incarnation = 100 + id;
    servers[id].address = "host:1";
  }
  const v1::ShardMap map = MakeFirstShardMap(servers, 7);
  EXPECT_EQ(map.version(), 1);
  EXPECT_THAT(map.shard_owners(), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  ASSERT_EQ(map.servers_size(), 3);
  EXPECT_EQ(map.servers(2).server_id(), 2);
  EXPECT_EQ(map.servers(2).incarnation(), 102u);
}

}  // namespace
}  // namespace selari
