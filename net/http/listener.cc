#include "net/http/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "net/http/connection.h"
#include "sys/clock.h"
#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::net {
namespace {

constexpr int kBacklog = 1'024;
// How many connections may be open beyond connections_max while evicted ones end.
constexpr std::size_t kEvictedMax = 64;
constexpr std::int64_t kRetryAcceptMs = 50;  // after a failed accept, such as one without a free descriptor
std::string numeric_host(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  (void)::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

Expected<sys::Fd> listening_socket(const std::string& host, std::uint16_t port) {
  const std::string name = "http://" + host + ":" + std::to_string(port);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); error != 0)
    return bad_input(name + " cannot be listened on: " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  sys::Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!fd || ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return bad_input(sys::error_text(name + " cannot be listened on") + "; another port may be free");
  return fd;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

struct HttpListener::Parts {
  sys::Fd socket;
  sys::Fd stop_event;
  HttpApp app;
  HttpLimits limits;
  std::string full_text;  // the answer to a connection for which there is no room
  std::uint16_t port = 0;
  HttpShared shared;
  std::thread acceptor;

  mutable std::mutex mutex;
  std::condition_variable ended;  // signalled when a connection has ended
  std::list<HttpSlot> slots;
  HttpCounts counts;

  void accept_all();
  void take(sys::Fd socket, std::string peer);
  bool make_room();
  bool start_thread(std::list<HttpSlot>::iterator slot);
  void serve(std::list<HttpSlot>::iterator slot);
  void cut(int how);
};

void HttpListener::Parts::accept_all() {
  while (!shared.stopping) {
    pollfd events[] = {{.fd = socket.get(), .events = POLLIN, .revents = 0},
                       {.fd = stop_event.get(), .events = POLLIN, .revents = 0}};
    if (::poll(events, 2, -1) < 0 || events[0].revents == 0) continue;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    sys::Fd accepted(
        ::accept4(socket.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted) {
      take(std::move(accepted), numeric_host(reinterpret_cast<sockaddr*>(&address), size));
    } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      pollfd stop{.fd = stop_event.get(), .events = POLLIN, .revents = 0};
      (void)::poll(&stop, 1, static_cast<int>(kRetryAcceptMs));
    }
  }
}

// Gives a new connection its thread, or turns it away.
void HttpListener::Parts::take(sys::Fd accepted, std::string peer) {
  const int yes = 1;
  ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::unique_lock lock(mutex);
  ++counts.accepted;
  if (make_room()) {
    slots.emplace_back();  // the oldest connection stays the first
    const auto slot = std::prev(slots.end());
    slot->socket = accepted.get();
    slot->peer = std::move(peer);
    slot->awaiting_since_ms = sys::monotonic_now_ms();
    if (start_thread(slot)) {
      (void)accepted.release();
      return;
    }
    slots.erase(slot);
  }
  ++counts.turned_away;
  lock.unlock();
  (void)::send(accepted.get(), full_text.data(), full_text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(accepted.get(), SHUT_WR);
}

// Returns whether another connection may be opened. Ends the one that has owed a request for longest, where all are in
// use. The caller holds the mutex.
bool HttpListener::Parts::make_room() {
  if (slots.size() < limits.connections_max) return true;
  if (slots.size() >= limits.connections_max + kEvictedMax) return false;
  HttpSlot* oldest = nullptr;
  for (HttpSlot& slot : slots) {
    const std::int64_t since_ms = slot.awaiting_since_ms;
    if (since_ms > 0 && (oldest == nullptr || since_ms < oldest->awaiting_since_ms)) oldest = &slot;
  }
  if (oldest == nullptr) return false;
  // Bytes that have arrived can still be read, so a peer that has sent its whole request still gets an answer.
  ::shutdown(oldest->socket, SHUT_RD);
  oldest->awaiting_since_ms = 0;
  ++counts.evicted;
  return true;
}

bool HttpListener::Parts::start_thread(std::list<HttpSlot>::iterator slot) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kHttpStackBytes);
  using Work = std::pair<Parts*, std::list<HttpSlot>::iterator>;
  auto work = std::make_unique<Work>(this, slot);
  const auto run = [](void* given) -> void* {
    const std::unique_ptr<Work> mine(static_cast<Work*>(given));
    mine->first->serve(mine->second);
    return nullptr;
  };
  pthread_t thread{};
  const bool started = ::pthread_create(&thread, &attributes, run, work.get()) == 0;
  if (started) (void)work.release();
  pthread_attr_destroy(&attributes);
  return started;
}

// The body of a connection's thread.
void HttpListener::Parts::serve(std::list<HttpSlot>::iterator slot) {
  HttpConnection(*slot, app, limits, shared).serve();
  const std::lock_guard lock(mutex);
  ::close(slot->socket);
  slots.erase(slot);
  ended.notify_all();  // under the lock: afterwards the listener may be gone
}

// Shuts down all connections that await a request, or with SHUT_RDWR all connections.
void HttpListener::Parts::cut(int how) {
  for (HttpSlot& slot : slots) {
    if (how == SHUT_RDWR || slot.awaiting_since_ms > 0) ::shutdown(slot.socket, how);
  }
}

HttpListener::HttpListener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Expected<std::unique_ptr<HttpListener>> HttpListener::start(const std::string& host, std::uint16_t port, HttpApp app,
                                                            const HttpLimits& limits) {
  auto parts = std::make_unique<Parts>();
  KQ_TRY_VALUE(parts->socket, listening_socket(host, port));
  parts->stop_event = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!parts->stop_event) return our_fault(sys::error_text("cannot make an eventfd for the HTTP server"));
  parts->app = std::move(app);
  parts->limits = limits;
  parts->full_text = complete_text(
      parts->app.reject({503, "all connections of this server are in use; send the request again soon"}, {}));
  parts->port = port_of(parts->socket.get());
  parts->acceptor = std::thread([&accepting = *parts] { accepting.accept_all(); });
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(parts)));
}

HttpListener::~HttpListener() {
  stop(0);
}

std::uint16_t HttpListener::port() const {
  return parts_->port;
}

HttpCounts HttpListener::counts() const {
  const std::lock_guard lock(parts_->mutex);
  HttpCounts counts = parts_->counts;
  counts.open = parts_->slots.size();
  return counts;
}

void HttpListener::stop(std::int64_t drain_ms) {
  if (!parts_->acceptor.joinable()) return;
  parts_->shared.stopping = true;
  const std::uint64_t one = 1;
  (void)!::write(parts_->stop_event.get(), &one, sizeof one);
  parts_->acceptor.join();
  parts_->socket = sys::Fd();
  std::unique_lock lock(parts_->mutex);
  parts_->cut(SHUT_RD);
  parts_->ended.wait_for(lock, std::chrono::milliseconds(drain_ms), [&] { return parts_->slots.empty(); });
  parts_->cut(SHUT_RDWR);
  parts_->ended.wait(lock, [&] { return parts_->slots.empty(); });
}

}  // namespace kq::net
