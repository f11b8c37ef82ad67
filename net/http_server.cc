// Theory of operation. The library (cpp-httplib) parses HTTP, but it gives each peer a thread for as long as the peer
// sends a byte now and then. A few dozen slow peers would occupy all of its threads, and the accepting thread would
// wait for them, also at shutdown. Therefore this file manages the connections itself. Each connection has
// kHttpRequestMs from its acceptance to send its request, however slowly its peer sends. When another connection
// arrives while kHttpWaitingMax connections wait for a thread, the server stops receiving on all served connections
// (shutdown(2) with SHUT_RD), so that no thread waits for the rest of a request. Bytes that have already arrived are
// still read, and a peer that has sent its whole request still gets its answer.
#include "net/http_server.h"

#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/error_text.h"

namespace kq::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRequestBytesMax = 64u << 10;  // far more than browsers send
constexpr std::size_t kBodyBytesMax = 1'024;         // a GET needs no body
constexpr int kBacklog = 128;

// Waits until one of `events` (POLLIN, POLLOUT) is possible on the socket. Returns false if `until` passes first.
bool is_ready(int socket, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd wanted{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// The stream that the library reads a request from and writes an answer to. Reading fails after `request_deadline`,
// except for bytes that have already been buffered. Writing fails kHttpAnswerMs after the first write.
class TimedStream final : public httplib::Stream {
 public:
  TimedStream(int socket, Clock::time_point request_deadline) : socket_(socket), request_deadline_(request_deadline) {}

  bool is_readable() const override { return at_ < end_ || is_ready(socket_, POLLIN, request_deadline_); }
  bool is_writable() const override { return is_ready(socket_, POLLOUT, Clock::now()); }

  // The library reads single bytes, so this function receives many bytes at once into a buffer and reads from there.
  ssize_t read(char* bytes, std::size_t size) override {
    if (at_ == end_) {
      if (bytes_left_ == 0 || !is_ready(socket_, POLLIN, request_deadline_)) return -1;
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
    if (!answer_deadline_) answer_deadline_ = Clock::now() + std::chrono::milliseconds(kHttpAnswerMs);
    if (!is_ready(socket_, POLLOUT, *answer_deadline_) || Clock::now() >= *answer_deadline_) return -1;
    return ::send(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // The pages do not use the addresses of the peers.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  const int socket_;
  const Clock::time_point request_deadline_;
  std::optional<Clock::time_point> answer_deadline_;  // deadline of the answer; set by the first write
  std::array<char, 4'096> buffer_{};
  std::size_t at_ = 0;                         // the next byte to read in buffer_
  std::size_t end_ = 0;                        // the end of the received bytes in buffer_
  std::size_t bytes_left_ = kRequestBytesMax;  // how many more bytes of the request may be received
};

// Owns the sockets of all open connections. kHttpThreads connections are served at a time; the others wait in the order
// of their arrival.
class Connections {
 public:
  using Serve = std::function<void(int socket, Clock::time_point request_deadline)>;

  explicit Connections(Serve serve) : serve_(std::move(serve)) {
    for (std::size_t i = 0; i < kHttpThreads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Connections() { stop(); }

  // Adds a connection; called by the accepting thread. If kHttpWaitingMax connections wait, ends reading on
  // the served connections and blocks until fewer wait. Closes the socket if the server is stopping.
  void take(int socket) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() >= kHttpWaitingMax) end_reading();
    space_.wait(lock, [&] { return stopping_ || waiting_.size() < kHttpWaitingMax; });
    if (stopping_) {
      ::close(socket);
      return;
    }
    waiting_.push_back({socket, Clock::now() + std::chrono::milliseconds(kHttpRequestMs)});
    work_.notify_one();
  }

  // Closes the waiting connections, lets the answers that are being sent finish, and joins the threads. Wakes take().
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      end_reading();
      for (const Connection& connection : std::exchange(waiting_, {})) ::close(connection.socket);
    }
    space_.notify_all();
    work_.notify_all();
    for (std::thread& thread : std::exchange(threads_, {})) thread.join();
  }

 private:
  struct Connection {
    int socket;
    Clock::time_point request_deadline;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Connection mine = waiting_.front();
      waiting_.pop_front();
      served_.push_back(mine.socket);
      space_.notify_one();
      lock.unlock();
      serve_(mine.socket, mine.request_deadline);
      ::shutdown(mine.socket, SHUT_RDWR);
      lock.lock();
      std::erase(served_, mine.socket);
      // Closes the socket only now, because the kernel may give the descriptor's number to a new connection at once.
      ::close(mine.socket);
    }
  }

  // Ends reading on all served sockets. Bytes that have arrived can still be read, and answers can still be written.
  void end_reading() {
    for (const int socket : served_) ::shutdown(socket, SHUT_RD);
  }

  const Serve serve_;
  std::mutex mutex_;
  std::condition_variable work_;   // signalled when a connection begins to wait
  std::condition_variable space_;  // signalled when a connection ceases to wait
  std::deque<Connection> waiting_;
  std::vector<int> served_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Runs the tasks of the library in the accepting thread, because a task only passes the socket to Connections.
class InlineTaskQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override { task(); }
  void shutdown() override {}
};

// The library's server with Connections in place of its thread pool.
class PageServer final : public httplib::Server {
 public:
  PageServer() {
    new_task_queue = [] { return new InlineTaskQueue; };
  }
  // Enlarges the kernel's queue of new connections. The library sets it to five; in a larger burst, the remaining peers
  // would retry only after a second.
  void enlarge_backlog() { ::listen(svr_sock_, kBacklog); }
  // Ends the connections, then the accepting thread.
  void end() {
    connections_.stop();  // before stop(), because the accepting thread may be blocked in take()
    stop();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    connections_.take(socket);
    return true;
  }
  void serve(int socket, Clock::time_point request_deadline) {
    TimedStream stream(socket, request_deadline);
    bool is_closed = false;
    // `true` closes the connection after one request, so that no idle connection occupies a thread.
    process_request(stream, true, is_closed, nullptr);
  }

  Connections connections_{[this](int socket, Clock::time_point request_deadline) { serve(socket, request_deadline); }};
};

// Replaces the library's socket options, which would let a second program share the port and receive some of the
// requests.
void socket_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

}  // namespace

struct HttpServer::Parts {
  PageServer server;
  std::uint16_t port = 0;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Expected<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& host, std::uint16_t port, HttpPages pages) {
  auto parts = std::make_unique<Parts>();
  httplib::Server& server = parts->server;
  server.set_socket_options(socket_options);
  server.set_payload_max_length(kBodyBytesMax);
  // One handler serves all paths, because the library reads the paths given to Get() as patterns.
  server.Get(".*", [pages = std::move(pages)](const httplib::Request& request, httplib::Response& response) {
    const auto page = pages.find(request.path);
    if (page == pages.end()) {
      response.status = 404;
      std::string known;
      for (const auto& [path, answer] : pages) known += (known.empty() ? "" : ", ") + path;
      response.set_content("this path does not exist; the known paths are " + known + "\n", "text/plain");
      return;
    }
    const HttpAnswer answer = page->second();
    response.set_content(answer.body, answer.type);
  });
  errno = 0;
  const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  if (bound <= 0) {
    return bad_input("http://" + host + ":" + std::to_string(port) + " cannot be listened on: " +
                     (errno != 0 ? sys::error_text(errno) : "not an address of this machine") +
                     "; another port may be free");
  }
  parts->server.enlarge_backlog();
  parts->port = static_cast<std::uint16_t>(bound);
  parts->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();  // a stop() before the server runs would have no effect
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
