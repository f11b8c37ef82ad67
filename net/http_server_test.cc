#include "net/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <vector>

namespace kq {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

int connect_to(std::uint16_t port) {
  const int peer = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return peer;
}

// Everything that comes back until the server closes.
std::string ask(std::uint16_t port, const std::string& request) {
  const int peer = connect_to(port);
  EXPECT_EQ(send(peer, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char bytes[4096];
  for (ssize_t got = recv(peer, bytes, sizeof bytes, 0); got > 0; got = recv(peer, bytes, sizeof bytes, 0)) {
    answer.append(bytes, static_cast<std::size_t>(got));
  }
  close(peer);
  return answer;
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: kq\r\n\r\n";
}

std::unique_ptr<HttpServer> server(std::function<HttpAnswer()> page = [] { return HttpAnswer{.body = "kq_up 1\n"}; }) {
  auto started = HttpServer::start("127.0.0.1", 0, {{"/metrics", std::move(page)}});
  EXPECT_TRUE(started) << started.error().message;
  return std::move(*started);
}

TEST(HttpServerTest, answers_its_pages_and_nothing_else) {
  const auto http = server();
  const std::string page = ask(http->port(), get("/metrics"));
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; charset=utf-8"));
  EXPECT_THAT(page, EndsWith("\r\n\r\nkq_up 1\n"));
  EXPECT_THAT(ask(http->port(), get("/")), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(http->port(), get("/metricsx")), EndsWith("known are /metrics\n"));
  EXPECT_THAT(ask(http->port(), "POST /metrics HTTP/1.1\r\nHost: kq\r\nContent-Length: 0\r\n\r\n"), StartsWith("HTTP/1.1 404"));
}

TEST(HttpServerTest, what_is_no_request_is_refused_and_harms_nobody) {
  const auto http = server();
  EXPECT_THAT(ask(http->port(), "\x16\x03\x01 nonsense\r\n\r\n"), testing::Not(HasSubstr("200")));
  EXPECT_THAT(ask(http->port(), "GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n"), testing::Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, silent_peers_keep_nobody_out_for_long) {
  const auto http = server();
  std::vector<int> silent;
  for (std::size_t i = 0; i < kHttpThreads; ++i) silent.push_back(connect_to(http->port()));
  EXPECT_THAT(ask(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
  for (const int peer : silent) close(peer);
}

TEST(HttpServerTest, a_port_has_one_owner) {
  const auto http = server();
  const auto second = HttpServer::start("127.0.0.1", http->port(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::bad_input);
  EXPECT_THAT(second.error().message, HasSubstr("http://127.0.0.1:" + std::to_string(http->port()) + " cannot be listened on"));
  EXPECT_FALSE(HttpServer::start("192.0.2.1", 0, {})) << "no address of this machine";
}

TEST(HttpServerTest, two_are_answered_at_once) {
  std::promise<void> both;
  std::shared_future<void> met = both.get_future().share();
  std::atomic<int> inside = 0;
  const auto http = server([&] {
    if (++inside == 2) both.set_value();
    met.wait();
    return HttpAnswer{.body = "x"};
  });
  auto first = std::async(std::launch::async, [&] { return ask(http->port(), get("/metrics")); });
  EXPECT_THAT(ask(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(first.get(), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace kq
