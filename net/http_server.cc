// Theory of operation. The library knows HTTP, and would give each peer a thread for as long as he sends a byte now and
// then: a few dozen who do so would have all of its threads, and the one that accepts would wait for them, also at the
// end. So connections are kept here. Each has kHttpRequestMs from when it is accepted to have said its request, however
// slowly; as long as kHttpWaitingMax wait for a thread, whoever has one and has not said his request yet is cut short.
// Who has said it is answered all the same: nobody loses what lies there to be read.
#include "net/http_server.h"

#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kq::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRequestBytesMax = 64u << 10;  // what browsers send stays far below
constexpr std::size_t kBodyBytesMax = 1'024;         // which no GET needs
constexpr int kBacklog = 128;

bool is_ready(int socket, short what, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd wanted{.fd = socket, .events = what, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// A connection as the library sees it: ended where the peer's time is over. What has come by then is read.
class TimedStream final : public httplib::Stream {
 public:
  TimedStream(int socket, Clock::time_point said_by) : socket_(socket), said_by_(said_by) {}

  bool is_readable() const override { return at_ < end_ || is_ready(socket_, POLLIN, said_by_); }
  bool is_writable() const override { return is_ready(socket_, POLLOUT, Clock::now()); }

  // The library asks for single bytes.
  ssize_t read(char* bytes, std::size_t size) override {
    if (at_ == end_) {
      if (bytes_left_ == 0 || !is_ready(socket_, POLLIN, said_by_)) return -1;
      const ssize_t got = ::recv(socket_, buffer_.data(), std::min(buffer_.size(), bytes_left_), MSG_DONTWAIT);
      if (got <= 0) return got;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
      bytes_left_ -= end_;
    }
    const std::size_t n = std::min(size, end_ - at_);
    std::copy_n(buffer_.data() + at_, n, bytes);
    at_ += n;
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* bytes, std::size_t size) override {
    if (!taken_by_) taken_by_ = Clock::now() + std::chrono::milliseconds(kHttpPatienceMs);
    if (!is_ready(socket_, POLLOUT, *taken_by_) || Clock::now() >= *taken_by_) return -1;
    return ::send(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Nobody asks who he is.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  const int socket_;
  const Clock::time_point said_by_;
  std::optional<Clock::time_point> taken_by_;  // of the answer, once it is there
  std::array<char, 4'096> buffer_{};
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t bytes_left_ = kRequestBytesMax;
};

// Every open connection: kHttpThreads are served, the others wait for it in the order in which they came. Sockets are
// its own.
class Connections {
 public:
  using Serve = std::function<void(int socket, Clock::time_point said_by)>;

  explicit Connections(Serve serve) : serve_(std::move(serve)) {
    for (std::size_t i = 0; i < kHttpThreads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Connections() { stop(); }

  // By the thread that accepts. It waits while kHttpWaitingMax do, but nobody who is served then may take his time.
  void take(int socket) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() >= kHttpWaitingMax) hurry();
    room_.wait(lock, [&] { return stopping_ || waiting_.size() < kHttpWaitingMax; });
    if (stopping_) {
      ::close(socket);
      return;
    }
    waiting_.push_back({socket, Clock::now() + std::chrono::milliseconds(kHttpRequestMs)});
    work_.notify_one();
  }

  // Ends take() as well. Whoever is being answered has his time for that.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      hurry();
      for (const Connection& connection : std::exchange(waiting_, {})) ::close(connection.socket);
    }
    room_.notify_all();
    work_.notify_all();
    for (std::thread& thread : std::exchange(threads_, {})) thread.join();
  }

 private:
  struct Connection {
    int socket;
    Clock::time_point said_by;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Connection mine = waiting_.front();
      waiting_.pop_front();
      served_.push_back(mine.socket);
      room_.notify_one();
      lock.unlock();
      serve_(mine.socket, mine.said_by);
      ::shutdown(mine.socket, SHUT_RDWR);
      lock.lock();
      std::erase(served_, mine.socket);
      ::close(mine.socket);  // not before: the number may be another's at once
    }
  }

  // What lies there can still be read, and behind it is the end: an answer is not touched.
  void hurry() {
    for (const int socket : served_) ::shutdown(socket, SHUT_RD);
  }

  const Serve serve_;
  std::mutex mutex_;
  std::condition_variable work_;  // somebody waits
  std::condition_variable room_;  // one less does
  std::deque<Connection> waiting_;
  std::vector<int> served_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// The library calls its tasks to have a socket processed: that only hands it over.
class AtOnce final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override { task(); }
  void shutdown() override {}
};

class Door final : public httplib::Server {
 public:
  Door() {
    new_task_queue = [] { return new AtOnce; };
  }
  // The library has room for five in the kernel: of a crowd that comes at once the others would try again after a
  // second.
  void widen() { ::listen(svr_sock_, kBacklog); }
  void end() {
    connections_.stop();  // first: the thread that accepts may wait there
    stop();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    connections_.take(socket);
    return true;
  }
  void serve(int socket, Clock::time_point said_by) {
    TimedStream stream(socket, said_by);
    bool is_closed = false;
    process_request(stream, true, is_closed, nullptr);  // one: a thread is nobody's between two requests
  }

  Connections connections_{[this](int socket, Clock::time_point said_by) { serve(socket, said_by); }};
};

// The library's own options would let a second program share the port, and each would get some of the requests.
void socket_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

struct HttpServer::Parts {
  Door server;
  std::uint16_t port = 0;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Expected<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& host, std::uint16_t port, HttpPages pages) {
  auto parts = std::make_unique<Parts>();
  httplib::Server& server = parts->server;
  server.set_socket_options(socket_options);
  server.set_payload_max_length(kBodyBytesMax);
  // One handler for all: the library reads the paths given to Get() as patterns.
  server.Get(".*", [pages = std::move(pages)](const httplib::Request& request, httplib::Response& response) {
    const auto page = pages.find(request.path);
    if (page == pages.end()) {
      response.status = 404;
      std::string known;
      for (const auto& [path, answer] : pages) known += (known.empty() ? "" : ", ") + path;
      response.set_content("there is nothing here; known are " + known + "\n", "text/plain");
      return;
    }
    const HttpAnswer answer = page->second();
    response.set_content(answer.body, answer.type);
  });
  errno = 0;
  const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  if (bound <= 0) {
    return bad_input("http://" + host + ":" + std::to_string(port) + " cannot be listened on: " +
                     (errno != 0 ? std::strerror(errno) : "not an address of this machine") +
                     "; another port may be free");
  }
  parts->server.widen();
  parts->port = static_cast<std::uint16_t>(bound);
  parts->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();  // else a stop that comes first would be forgotten
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

HttpServer::~HttpServer() {
  parts_->server.end();
  parts_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return parts_->port;
}

}  // namespace kq::net
