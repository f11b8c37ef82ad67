// The broker's door: who may connect, and how many.
//
// A thread of its own beside the sockets. ZeroMQ asks it about every key that knocks (ZAP, RFC 27) and tells it of
// every connection that is made, refused or lost (socket monitors). It lets in the keys of `authorized` that have the
// role for the socket, reads that file again when it changes, and hangs up on connections over the limits. With the
// connection itself ZeroMQ says no more than a file descriptor; the door asks the system whose that is.
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

struct DoorOptions {
  std::string key_folder;
  std::size_t connections_max = 0;
  std::size_t connections_per_address_max = 0;
};

// May a key of this role use this socket?
bool may_use(Role role, Side side);

class Door {
 public:
  // Before any socket is bound. The sockets outlive the door. `authorized`: the first reading of the folder's list.
  Door(zmq::context_t& context, zmq::socket_t& clients, zmq::socket_t& workers, DoorOptions options,
       Authorized authorized);
  ~Door();

  // The keys let in now, for messages on connections that are older than the last change. Any thread.
  std::shared_ptr<const Authorized> authorized() const { return authorized_.load(); }

  std::vector<std::string> take_notes();  // any thread

 private:
  struct FileSignature {
    std::int64_t changed_ns = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    friend bool operator==(const FileSignature&, const FileSignature&) = default;
  };
  // The connections of one socket, as its monitor tells of them.
  struct Monitor {
    zmq::socket_t socket;
    std::unordered_map<int, std::string> address_of;  // by descriptor
    std::string failure;                              // of the handshake that is about to end a connection
  };

  void serve();
  void answer_zap();
  std::string refusal(std::string_view domain, const std::string& public_key) const;
  void observe(Side side);
  void accepted(Monitor& monitor, int fd);
  void lost(Monitor& monitor, int fd);
  void follow_authorized();
  std::optional<FileSignature> signature() const;
  void note(const std::string& subject, const std::string& text);

  DoorOptions options_;
  std::atomic<std::shared_ptr<const Authorized>> authorized_;
  std::optional<FileSignature> read_signature_;
  std::array<zmq::socket_t*, 2> watched_;
  std::array<Monitor, 2> monitors_;  // by Side
  zmq::socket_t zap_;
  std::map<std::string, std::size_t> connections_at_;  // by address
  std::size_t connection_count_ = 0;
  int stop_fd_ = -1;
  mutable std::mutex notes_mutex_;
  FewNotes notes_;
  std::thread thread_;
};

}  // namespace kq::net
