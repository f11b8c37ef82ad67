#include "net/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace kq::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

bool try_connect(int peer, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

int connect_to(std::uint16_t port) {
  const int peer = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_TRUE(try_connect(peer, port));
  return peer;
}

// Returns everything that the server sends until it closes the connection.
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
  EXPECT_THAT(ask(http->port(), get("/metricsx")), EndsWith("the known paths are /metrics\n"));
  EXPECT_THAT(ask(http->port(), "POST /metrics HTTP/1.1\r\nHost: kq\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 404"));
}

TEST(HttpServerTest, malformed_requests_are_refused_and_do_not_disturb_others) {
  const auto http = server();
  EXPECT_THAT(ask(http->port(), "\x16\x03\x01 nonsense\r\n\r\n"), testing::Not(HasSubstr("200")));
  EXPECT_THAT(ask(http->port(), "GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n"),
              testing::Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, silent_peers_do_not_block_others_for_long) {
  const auto http = server();
  std::vector<int> silent;
  for (std::size_t i = 0; i < kHttpThreads; ++i) silent.push_back(connect_to(http->port()));
  EXPECT_THAT(ask(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
  for (const int peer : silent) close(peer);
}

using Clock = std::chrono::steady_clock;

std::int64_t ms_since(Clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - then).count();
}

// Peers that send an endless request, one byte every 20 ms, which is well within the timeout of a single read. A peer
// whose connection is closed connects again.
class Trickle {
 public:
  Trickle(std::uint16_t port, std::size_t peer_count) {
    for (std::size_t i = 0; i < peer_count; ++i) peers_.push_back(connect_to(port));
    thread_ = std::thread([this, port] { run(port); });
  }
  ~Trickle() {
    stop_ = true;
    thread_.join();
    for (const int peer : peers_) close(peer);
  }

 private:
  void run(std::uint16_t port) {
    while (!stop_) {
      for (int& peer : peers_) {
        char byte = 'G';
        const bool is_closed = send(peer, &byte, 1, MSG_NOSIGNAL) != 1 || recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
        if (!is_closed || stop_) continue;
        close(peer);
        peer = socket(AF_INET, SOCK_STREAM, 0);
        (void)try_connect(peer, port);  // fails once the server has stopped
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::vector<int> peers_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// Far longer than any limit of the server, so that only a failure takes so long.
constexpr std::int64_t kLongMs = 30'000;

// Returns the answer of a server that ends slow peers to serve others. On a busy machine this peer itself may be slow
// between its connection and its request, and asks again as a browser does.
std::string ask_busy(std::uint16_t port, const std::string& request) {
  const auto began = Clock::now();
  std::string answer;
  while (answer.empty() && ms_since(began) < kLongMs) answer = ask(port, request);
  return answer;
}

TEST(HttpServerTest, a_complete_request_is_answered_beside_sixty_peers_that_trickle_theirs) {
  const auto http = server();
  const Trickle trickle(http->port(), 60);
  for (int i = 0; i < 3; ++i) {
    const auto asked = Clock::now();
    EXPECT_THAT(ask_busy(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
    EXPECT_LT(ms_since(asked), kLongMs);
  }
}

TEST(HttpServerTest, a_request_that_trickles_is_ended_at_its_deadline) {
  const auto http = server();
  const auto began = Clock::now();
  const int peer = connect_to(http->port());
  char byte = 'G';
  while (ms_since(began) < kLongMs && recv(peer, &byte, 1, MSG_DONTWAIT) != 0) {
    byte = 'G';
    send(peer, &byte, 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  close(peer);
  EXPECT_GE(ms_since(began), kHttpRequestMs);
  EXPECT_LT(ms_since(began), kLongMs);
}

TEST(HttpServerTest, the_server_stops_in_time_although_peers_trickle_their_requests) {
  auto http = server();
  auto trickle = std::make_unique<Trickle>(http->port(), 60);
  EXPECT_THAT(ask_busy(http->port(), get("/metrics")), StartsWith("HTTP/1.1 200"));
  auto ending = std::async(std::launch::async, [&] { http.reset(); });
  EXPECT_EQ(ending.wait_for(std::chrono::milliseconds(kLongMs)), std::future_status::ready);
  trickle.reset();
}

TEST(HttpServerTest, a_peer_that_does_not_read_its_answer_is_disconnected_in_time) {
  auto http = server([] { return HttpAnswer{.body = std::string(64u << 20, 'x')}; });
  const int peer = connect_to(http->port());
  const std::string request = get("/metrics");
  EXPECT_EQ(send(peer, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  char byte = 0;
  EXPECT_EQ(recv(peer, &byte, 1, 0), 1);  // the answer has begun
  std::atomic<bool> ended = false;
  std::thread slow_reader([&] {  // the peer reads a little of the answer now and then
    std::vector<char> buffer(4096);
    while (!ended && recv(peer, buffer.data(), buffer.size(), 0) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  const auto began = Clock::now();
  http.reset();
  EXPECT_LT(ms_since(began), kLongMs) << "the peer would take minutes for its answer";
  ended = true;
  shutdown(peer, SHUT_RDWR);
  slow_reader.join();
  close(peer);
}

TEST(HttpServerTest, a_second_server_cannot_share_the_port) {
  const auto http = server();
  const auto second = HttpServer::start("127.0.0.1", http->port(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(second.error().message,
              HasSubstr("http://127.0.0.1:" + std::to_string(http->port()) + " cannot be listened on"));
  EXPECT_FALSE(HttpServer::start("192.0.2.1", 0, {})) << "no address of this machine";
}

TEST(HttpServerTest, two_requests_are_answered_at_once) {
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
}  // namespace kq::net
