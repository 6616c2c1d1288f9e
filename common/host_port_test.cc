#include "common/host_port.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(HostPortTest, TakesAddressesApart) {
  const absl::StatusOr<HostPort> name = ParseHostPort("ps-0.example:7070");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->host, "ps-0.example");
  EXPECT_EQ(name->port, 7070);
  const absl::StatusOr<HostPort> ipv6 = ParseHostPort("[::1]:0");
  ASSERT_TRUE(ipv6.ok()) << ipv6.status();
  EXPECT_EQ(ipv6->host, "::1");
  EXPECT_EQ(ipv6->port, 0);
}

TEST(HostPortTest, WhatIsNoAddressIsNamedAndRefused) {
  for (const char* address : {"", "host", ":7070", "host:", "host:http",
                              "host:-1", "host:65536", "host:99999"}) {
    const absl::Status status = ParseHostPort(address).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_NE(status.message().find(std::string("\"") + address + "\""),
              std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace selari
