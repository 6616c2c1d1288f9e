#include "server/rpc/tensor_calls.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/rpc/fake_shard_host.h"

namespace selari {
namespace {

TEST(TensorCallsTest, ManyTensorsAreListedPageByPage) {
  std::vector<std::pair<std::string, int64_t>> tensors;
  constexpr int kCount = 70000;
  for (int i = 0; i < kCount; ++i) {
    tensors.emplace_back(absl::StrCat("t", i), 1);
  }
  const FakeShardHost host(tensors, {0, 1});

  v1::ListTensorsRequest request;
  v1::ListTensorsResponse first;
  v1::ListTensorsResponse second;
  ASSERT_TRUE(ListTensors(host, request, &first).ok());
  request.set_page_token(first.next_page_token());
  ASSERT_TRUE(ListTensors(host, request, &second).ok());

  EXPECT_EQ(first.tensors_size(), 65536);
  EXPECT_EQ(first.job_id(), "job");
  EXPECT_EQ(second.tensors_size(), kCount - 65536);
  EXPECT_EQ(second.tensors(0).spec().name(), "t65536");
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_LT(first.ByteSizeLong(), 4u << 20) << "what any client takes";
}

TEST(TensorCallsTest, InventedPageTokenIsRefused) {
  const FakeShardHost host({{"a", 16}}, {0, 1});
  for (const char* token : {"x", "-1", "1", "99999999999"}) {
    v1::ListTensorsRequest request;
    request.set_page_token(token);
    v1::ListTensorsResponse response;
    EXPECT_EQ(ListTensors(host, request, &response).code(),
              absl::StatusCode::kInvalidArgument)
        << token;
  }
}

TEST(TensorCallsTest, PartOfATensorElsewhereIsLeftOut) {
  const FakeShardHost host({{"a", 64}}, {1});
  v1::PullTensorRequest request;
  request.set_name("a");

  const auto range = FindRange(host, request);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->chunks.size(), 1u);
  EXPECT_EQ(range->chunks[0].offset, 32);

  request.set_count(32);
  EXPECT_EQ(FindRange(host, request).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace selari
