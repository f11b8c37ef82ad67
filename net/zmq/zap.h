// Decides which connections a broker with keys accepts, and how many.
//
// Theory of operation. The authenticator has a thread of its own beside the sockets. ZeroMQ asks this thread about the
// key of every new connection (ZAP, RFC 27) and reports every connection that is made, refused or lost (socket
// monitors). The thread accepts the keys of `authorized` whose role fits the socket, reads that file again when it
// changes, and closes connections over the limits. A report names a connection only by its file descriptor; the thread
// asks the system for the peer's address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <zmq.hpp>

#include "core/base/error.h"
#include "net/keys.h"
#include "net/limits/log_rate_limiter.h"
#include "net/link.h"

namespace kq::net {

// The key folder and the connection limits of a ZapAuthenticator.
struct ZapOptions {
  std::string key_folder;
  std::size_t connections_max = 0;
  std::size_t connections_per_address_max = 0;
};

// Returns whether a key of this role may use this socket.
bool may_use(Role role, Side side);

// Authenticates the connections of a broker's two sockets by their keys, and limits the number of connections.
class ZapAuthenticator {
 public:
  // Starts the thread. Must be called before any socket is bound; the sockets must outlive this object. `authorized` is
  // the folder's list as it was first read.
  ZapAuthenticator(zmq::context_t& context, zmq::socket_t& clients, zmq::socket_t& workers, ZapOptions options,
                   Authorized authorized);
  ~ZapAuthenticator();

  // Returns the keys that are authorized now. Callers check each message with it, because a connection may be older
  // than the last change of the list. Any thread may call it.
  std::shared_ptr<const Authorized> authorized() const { return authorized_.load(); }

  // Returns the log lines kept since the last call, as LogRateLimiter::take() does. Any thread may call it.
  std::vector<std::string> take_log_lines();

 private:
  struct FileSignature {
    std::int64_t changed_ns = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    friend bool operator==(const FileSignature&, const FileSignature&) = default;
  };
  // The connections of one socket, as its monitor reports them.
  struct Monitor {
    zmq::socket_t socket;
    std::unordered_map<int, std::string> address_of;  // addresses by file descriptor
    std::string failure;                              // why the handshake of the connection that closes next failed
  };

  void serve();
  void answer_zap();
  std::string refusal(std::string_view domain, const std::string& public_key);
  void observe(Side side);
  void accepted(Monitor& monitor, int fd);
  void lost(Monitor& monitor, int fd);
  void follow_authorized();
  std::optional<FileSignature> signature() const;
  void log(const std::string& subject, const std::string& text);

  ZapOptions options_;
  std::atomic<std::shared_ptr<const Authorized>> authorized_;
  std::optional<FileSignature> read_signature_;
  std::array<zmq::socket_t*, 2> watched_;
  std::array<Monitor, 2> monitors_;  // by Side
  zmq::socket_t zap_;
  std::map<std::string, std::size_t> connections_at_;  // number of connections by address
  std::size_t connection_count_ = 0;
  int stop_fd_ = -1;
  mutable std::mutex log_mutex_;
  LogRateLimiter log_;
  std::thread thread_;
};

}  // namespace kq::net
