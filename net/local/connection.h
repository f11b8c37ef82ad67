// One end of a connection without keys: a non-blocking socket, and the messages that are being sent and received on it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "net/local/zmtp.h"

namespace kq::net {

class PlainConnection {
 public:
  // Owns the descriptor of a stream that is connected, or is about to be. `all_unsent_bytes` counts what waits in all
  // connections of a link, and outlives them.
  PlainConnection(int fd, std::string_view socket_type, std::size_t* all_unsent_bytes = nullptr);
  ~PlainConnection();
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  int fd() const { return fd_; }
  bool is_ready() const { return is_ready_; }  // the handshake is over
  bool is_lost() const { return is_lost_; }    // as a send found
  bool has_heard() const { return has_heard_; }

  // Takes some of what has arrived. To be called when next() has nothing.
  enum class Heard { nothing, something, end };
  Heard read();
  // What came next; pings are answered here.
  std::optional<ZmtpItem> next();
  std::size_t begun_bytes() const { return reader_.begun_bytes(); }  // of a message that is not whole

  // False: too much waits already, or the connection is not ready or is lost. Never blocks; what the system does not
  // take waits.
  bool send(std::string_view message);
  // The same, but it waits for flush(): what goes together wakes the other end once.
  bool send_later(std::string message);
  // Sends of what waits as much as can go. False: the connection is lost.
  bool flush();
  bool has_unsent() const { return !unsent_.empty(); }

 private:
  bool may_send() const;
  void keep(std::string piece);
  void forget(std::size_t bytes);
  bool write(std::string_view head, std::string_view body);

  const int fd_;
  ZmtpReader reader_;
  bool is_ready_ = false;
  bool has_heard_ = false;
  bool is_lost_ = false;
  std::deque<std::string> unsent_;  // messages, or pieces of long ones
  std::size_t sent_of_first_ = 0;
  std::size_t unsent_bytes_ = 0;  // of all pieces, also what was sent of the first
  std::size_t* const all_unsent_bytes_;
};

}  // namespace kq::net
