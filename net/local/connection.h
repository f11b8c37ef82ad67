// One end of a connection without keys: a non-blocking stream socket with its ZMTP state and its send queue.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "net/local/zmtp.h"

namespace kq::net {

// Sends and receives ZMTP messages on one socket without blocking. The owner calls flush() when the socket is writable.
class ZmtpConnection {
 public:
  // Takes ownership of `fd`, a stream socket that is connected or is connecting. `all_unsent_bytes` counts the unsent
  // bytes of all connections of a link and must outlive them.
  ZmtpConnection(int fd, std::string_view socket_type, std::size_t* all_unsent_bytes = nullptr);
  ~ZmtpConnection();
  ZmtpConnection(const ZmtpConnection&) = delete;
  ZmtpConnection& operator=(const ZmtpConnection&) = delete;

  int fd() const { return fd_; }
  bool is_ready() const { return is_ready_; }          // the handshake is complete
  bool is_lost() const { return is_lost_; }            // a send has failed
  bool has_received() const { return has_received_; }  // at least one byte has arrived

  // Reads bytes that have arrived, at most 256 KB. Must be called only when next() returns an empty optional.
  enum class ReadResult { none, some, end_of_stream };
  ReadResult read();
  // Returns the next item of the bytes read so far, or an empty optional if more bytes are needed. Answers pings.
  std::optional<ZmtpItem> next();
  std::size_t incomplete_bytes() const {
    return reader_.incomplete_bytes();
  }  // received bytes of an incomplete message

  // Sends a message, or queues the part that the system does not take now. Returns false and drops the message if the
  // connection is not ready or is lost, or if the queue has reached its limits (net/limits/server_limits.h).
  bool send(std::string_view message);
  // Queues a message for the next flush(), so that several messages wake the peer once. Fails like send().
  bool send_later(std::string message);
  // Sends as much of the queue as the system takes. Returns false if the connection is lost.
  bool flush();
  bool has_unsent() const { return !unsent_.empty(); }

 private:
  bool may_send() const;
  void add_unsent(std::string piece);
  void subtract_unsent(std::size_t bytes);
  bool write(std::string_view head, std::string_view body);

  const int fd_;
  ZmtpReader reader_;
  bool is_ready_ = false;
  bool has_received_ = false;
  bool is_lost_ = false;
  std::deque<std::string> unsent_;  // messages, or pieces of long messages
  std::size_t sent_of_first_ = 0;   // bytes of the first piece that are already sent
  std::size_t unsent_bytes_ = 0;    // of all pieces, including the sent part of the first piece
  std::size_t* const all_unsent_bytes_;
};

}  // namespace kq::net
