#include "net/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::net {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view url) {
  const Expected<Endpoints> endpoints = parse_broker_url(url);
  if (endpoints) return "accepted as " + endpoints->client + " and " + endpoints->worker;
  EXPECT_EQ(endpoints.error().kind, ErrorKind::bad_input);
  return endpoints.error().message;
}

TEST(Endpoint, tcp_workers_use_the_next_port) {
  EXPECT_EQ(parse_broker_url("tcp://127.0.0.1:5570"), (Endpoints{"tcp://127.0.0.1:5570", "tcp://127.0.0.1:5571"}));
  EXPECT_EQ(parse_broker_url("tcp://[::1]:65534"), (Endpoints{"tcp://[::1]:65534", "tcp://[::1]:65535"}));
  EXPECT_EQ(parse_broker_url("tcp://gpu-host.lan:1"), (Endpoints{"tcp://gpu-host.lan:1", "tcp://gpu-host.lan:2"}));
}

TEST(Endpoint, ipc_workers_use_a_second_path) {
  EXPECT_EQ(parse_broker_url("ipc:///tmp/kq.sock"), (Endpoints{"ipc:///tmp/kq.sock", "ipc:///tmp/kq.sock.workers"}));
}

TEST(Endpoint, default_url_is_valid) {
  EXPECT_TRUE(parse_broker_url(kDefaultBrokerUrl));
}

TEST(Endpoint, an_error_names_the_supported_schemes) {
  EXPECT_EQ(error_of("localhost:5570"),
            "broker 'localhost:5570': a URL such as tcp://127.0.0.1:5570 or ipc:///tmp/kq.sock is needed");
  EXPECT_THAT(error_of("http://127.0.0.1:5570"), HasSubstr("such as tcp://127.0.0.1:5570"));
  EXPECT_THAT(error_of(""), HasSubstr("is empty; a URL such as"));
}

TEST(Endpoint, refuses_a_tcp_url_without_host_or_port) {
  EXPECT_EQ(error_of("tcp://127.0.0.1"), "broker 'tcp://127.0.0.1': no port; tcp://HOST:PORT is needed");
  EXPECT_EQ(error_of("tcp://:5570"), "broker 'tcp://:5570': no host; tcp://HOST:PORT is needed");
  for (const char* port : {"", "0", "65535", "99999999999", "-1", "5570x", "x", "*", " 1"}) {
    EXPECT_THAT(error_of("tcp://a:" + std::string(port)),
                HasSubstr("the port must be a number from 1 to 65534, got '" + std::string(port) + "'"));
  }
}

// The port of the workers has one digit more than the port of the clients.
TEST(Endpoint, refuses_a_tcp_url_whose_workers_have_too_long_a_url) {
  const std::string host(kNameBytesMax - 8, 'h');
  EXPECT_TRUE(parse_broker_url("tcp://" + host + ":8"));
  EXPECT_EQ(error_of("tcp://" + host + ":9"),
            "broker 'tcp://" + host + ":9': the URL for workers is 201 bytes long, the limit is 200");
}

TEST(Endpoint, refuses_a_host_that_is_not_a_name_or_an_address) {
  EXPECT_THAT(error_of("tcp://a/b:1"), HasSubstr("must be a name or an address"));
  EXPECT_THAT(error_of("tcp://eth0;127.0.0.1:1"), HasSubstr("must be a name or an address"));
  EXPECT_THAT(error_of("tcp://::1:5570"), HasSubstr("in brackets, as in tcp://[::1]:5570"));
}

TEST(Endpoint, refuses_an_empty_or_too_long_ipc_path) {
  EXPECT_TRUE(parse_broker_url("ipc://" + std::string(kIpcPathBytesMax, 'x')));
  EXPECT_THAT(error_of("ipc://" + std::string(kIpcPathBytesMax + 1, 'x')),
              HasSubstr("the path is 100 bytes long, a socket's path may have 99"));
  EXPECT_THAT(error_of("ipc://"), HasSubstr("no path; ipc://PATH is needed"));
  EXPECT_THAT(error_of("ipc://*"), HasSubstr("no path; ipc://PATH is needed"));
}

TEST(Endpoint, refuses_control_characters) {
  EXPECT_THAT(error_of(std::string_view("ipc:///tmp/a\0b", 14)), HasSubstr("holds a control character at byte 12"));
}

TEST(EndpointTest, a_list_of_brokers_has_commas) {
  const auto brokers = parse_broker_urls("tcp://a:5570,ipc:///b");
  ASSERT_TRUE(brokers);
  ASSERT_EQ(brokers->size(), 2);
  EXPECT_EQ((*brokers)[1].worker, "ipc:///b.workers");
  for (const char* urls : {"", "tcp://a:1,", ",tcp://a:1", "tcp://a:1,tcp://b:1,tcp://c:1,tcp://d:1,tcp://e:1"})
    EXPECT_FALSE(parse_broker_urls(urls)) << urls;
}

}  // namespace
}  // namespace kq::net
