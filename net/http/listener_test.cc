#include "net/http/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "net/http/connection.h"

namespace kq::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kBodyBytesMax = 1'000;
constexpr std::size_t kLargeBytes = 64u << 20;  // more than the sockets of both ends hold

// A client that sends and receives raw bytes.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(std::string_view bytes) const {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // Returns everything that arrives until the server closes the connection.
  std::string read_all() const {
    return read_until([](const std::string&) { return false; });
  }
  std::string read_until_has(const std::string& text) const {
    return read_until([&](const std::string& got) { return got.find(text) != std::string::npos; });
  }

 private:
  std::string read_until(const std::function<bool(const std::string&)>& is_enough) const {
    std::string got;
    char bytes[4096];
    while (!is_enough(got)) {
      const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
      if (n <= 0) break;
      got.append(bytes, static_cast<std::size_t>(n));
    }
    return got;
  }

  int socket_;
};

// A server whose answer repeats the request. "/slow" blocks until let_go(), "/abandoned" until its client has gone, and
// "/stream" sends three parts.
struct Server {
  std::atomic<bool> is_blocked = false;     // a request for "/slow" or "/abandoned" is being answered
  std::atomic<bool> was_abandoned = false;  // the client of "/abandoned" has gone
  std::promise<void> released;
  std::shared_future<void> release{released.get_future()};
  std::mutex mutex;
  std::vector<HttpLogEntry> entries;
  std::unique_ptr<HttpListener> listener;

  explicit Server(const HttpLimits& limits = {.linger_ms = 200}) {
    auto started = HttpListener::start(
        "127.0.0.1", 0,
        {.admit =
             [](HttpRequest& request) {
               HttpAdmission admission{.body_bytes_max = request.path == "/long" ? 100'000 : kBodyBytesMax};
               if (request.path == "/secret") admission.refusal = HttpResponse{.status = 401, .body = "no"};
               return admission;
             },
         .answer =
             [this](HttpRequest& request) {
               if (request.path == "/slow") {
                 is_blocked = true;
                 release.wait();
               }
               if (request.path == "/abandoned") {
                 is_blocked = true;
                 for (int i = 0; i < 30'000 && !request.is_abandoned(); ++i) ::usleep(1'000);
                 was_abandoned = request.is_abandoned();
               }
               HttpResponse response{.type = "text/plain", .body = request.method + " " + request.body};
               if (request.path == "/large") response.body.assign(kLargeBytes, 'a');
               if (request.path == "/broken")
                 response.stream = [](const HttpWrite& write) { return write("a"), false; };
               if (request.path == "/stream")
                 response.stream = [](const HttpWrite& write) {
                   return write("a") && write("") && write("bc") && write("d");
                 };
               return response;
             },
         .reject =
             [](const HttpFault& fault, const HttpRequest&) {
               return HttpResponse{.status = fault.status, .type = "text/plain", .body = fault.sentence};
             },
         .log =
             [this](const HttpLogEntry& entry) {
               const std::lock_guard lock(mutex);
               entries.push_back(entry);
             }},
        limits);
    EXPECT_TRUE(started) << started.error().message;
    listener = std::move(*started);
  }
  ~Server() {
    if (!is_released) released.set_value();
  }
  void let_go() {
    is_released = true;
    released.set_value();
  }
  void wait_until_blocked() const {
    while (!is_blocked) ::usleep(1'000);
  }
  bool is_released = false;

  std::string ask(const std::string& bytes) const {
    const RawClient client(listener->port());
    client.send(bytes);
    return client.read_all();
  }
};

std::string post(const std::string& path, const std::string& fields, const std::string& body = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: kq\r\nConnection: close\r\n" + fields + "\r\n" + body;
}

TEST(HttpListener, a_request_is_answered) {
  const Server server;
  const std::string got = server.ask(post("/", "Content-Length: 5\r\n", "hello"));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(got, EndsWith("\r\n\r\nPOST hello"));
}

TEST(HttpListener, a_connection_carries_several_requests) {
  const Server server;
  const RawClient client(server.listener->port());
  client.send("GET / HTTP/1.1\r\nHost: kq\r\n\r\n");
  EXPECT_THAT(client.read_until_has("GET "), HasSubstr("200 OK"));
  client.send(
      "POST / HTTP/1.1\r\nHost: kq\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\nHost: kq\r\nConnection: "
      "close\r\n\r\n");
  const std::string got = client.read_all();
  EXPECT_THAT(got, HasSubstr("POST x"));
  EXPECT_THAT(got, EndsWith("GET "));
}

TEST(HttpListener, chunked_bodies_are_read_and_streams_are_chunked) {
  const Server server;
  EXPECT_THAT(server.ask(post("/", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n")), EndsWith("POST abc"));
  const std::string got = server.ask(post("/stream", ""));
  EXPECT_THAT(got, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(got, EndsWith("\r\n\r\n1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n"));
  EXPECT_THAT(server.ask("GET /stream HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\nabcd"));
}

TEST(HttpListener, a_stream_that_fails_is_cut) {
  const Server server;
  EXPECT_THAT(server.ask(post("/broken", "")), EndsWith("\r\n\r\n1\r\na\r\n"));
}

TEST(HttpListener, head_requests_get_no_body) {
  const Server server;
  EXPECT_THAT(server.ask("HEAD / HTTP/1.1\r\nHost: kq\r\nConnection: close\r\n\r\n"), EndsWith("\r\n\r\n"));
}

TEST(HttpListener, a_client_that_expects_to_be_asked_is_asked) {
  const Server server;
  const RawClient client(server.listener->port());
  client.send(post("/", "Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.read_until_has("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.read_all(), EndsWith("POST ok"));
}

TEST(HttpListener, a_refused_or_long_body_is_not_read) {
  const Server server;
  EXPECT_THAT(server.ask(post("/secret", "Content-Length: 999\r\n")), StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(server.ask(post("/", "Content-Length: 1000000000\r\n")), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(server.ask(post("/", "Transfer-Encoding: chunked\r\n", "3e9\r\n")), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpListener, long_bodies_together_are_limited) {
  const Server server({.bodies_bytes_max = 100'000, .linger_ms = 50});
  const RawClient first(server.listener->port());
  first.send("POST /long HTTP/1.1\r\nHost: kq\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n");
  EXPECT_THAT(first.read_until_has("\r\n\r\n"), StartsWith("HTTP/1.1 100 ")) << "the body has its room";
  EXPECT_THAT(server.ask(post("/long", "Content-Length: 70000\r\n")), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(server.ask(post("/", "Content-Length: 2\r\n", "ok")), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpListener, malformed_requests_are_answered_with_a_reason) {
  const Server server;
  EXPECT_THAT(server.ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(server.ask("GET / HTTP/1.1\nHost: kq\n\n"), EndsWith("CR LF"));
  EXPECT_THAT(server.ask(post("/", "Transfer-Encoding: chunked\r\n", "zz")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(server.ask("GET /" + std::string(20'000, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpListener, heads_and_bodies_that_arrive_slowly_are_ended) {
  const Server server({.head_ms = 50, .body_ms = 50, .linger_ms = 50});
  EXPECT_THAT(server.ask("GET / HT"), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_THAT(server.ask(post("/", "Content-Length: 5\r\n", "he")), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(server.ask(""), "");
}

TEST(HttpListener, a_client_that_does_not_read_its_answer_is_cut) {
  Server server({.write_ms = 50, .linger_ms = 50});
  const RawClient client(server.listener->port());
  client.send("GET /large HTTP/1.1\r\nHost: kq\r\n\r\n");
  const auto is_served = [&] {
    const HttpCounts counts = server.listener->counts();
    return counts.accepted == 1 && counts.open == 0;
  };
  while (!is_served()) ::usleep(1'000);
  ASSERT_EQ(server.entries.size(), 1u);
  EXPECT_LT(server.entries[0].answer_bytes, kLargeBytes);
}

TEST(HttpListener, slow_connections_make_room_for_others) {
  const Server server({.connections_max = 2, .linger_ms = 50});
  const RawClient first(server.listener->port());
  first.send("GET / HT");
  const RawClient second(server.listener->port());
  second.send("GET / HT");
  EXPECT_THAT(server.ask(post("/", "")), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(first.read_all(), "");
  EXPECT_EQ(server.listener->counts().evicted, 1u);
}

TEST(HttpListener, a_full_server_turns_connections_away) {
  Server server({.connections_max = 1, .linger_ms = 50});
  const RawClient slow(server.listener->port());
  slow.send(post("/slow", ""));
  server.wait_until_blocked();  // a connection whose head is missing would make room
  while (server.listener->counts().turned_away == 0) {
    const std::string got = server.ask("");
    if (!got.empty()) {
      EXPECT_THAT(got, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    }
  }
  server.let_go();
  EXPECT_THAT(slow.read_all(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(HttpListener, a_handler_notices_that_its_client_has_gone) {
  Server server;
  {
    const RawClient client(server.listener->port());
    client.send("GET /abandoned HTTP/1.1\r\nHost: kq\r\n\r\n");
    server.wait_until_blocked();
  }
  server.listener->stop(60'000);
  ASSERT_EQ(server.entries.size(), 1u);
  EXPECT_EQ(server.entries[0].status, 200);
  EXPECT_TRUE(server.was_abandoned);
}

TEST(HttpListener, stopping_finishes_what_is_being_served) {
  Server server;
  const RawClient idle(server.listener->port());
  const RawClient client(server.listener->port());
  client.send("GET /slow HTTP/1.1\r\nHost: kq\r\n\r\n");
  while (server.listener->counts().open < 2) ::usleep(1'000);
  ::usleep(20'000);
  std::thread stopper([&] { server.listener->stop(5'000); });
  EXPECT_EQ(idle.read_all(), "");
  server.let_go();
  const std::string got = client.read_all();
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Connection: close"));
  stopper.join();
}

TEST(HttpListener, a_port_in_use_is_an_error) {
  const Server server;
  const auto second = HttpListener::start("127.0.0.1", server.listener->port(), {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be listened on"));
}

}  // namespace
}  // namespace kq::net
