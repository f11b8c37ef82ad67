// The protocol of a connection without keys: ZMTP 3.1 (RFC 23 and 37) with the mechanism NULL, as far as a DEALER and a
// ROUTER need it.
//
// Both ends send a greeting of 64 bytes and a READY command, then messages. Each message is one frame after its length.
// A frame may also be a command; only PING is answered.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kq::net {

// What either end says first, all at once: neither waits for the other.
std::string zmtp_opening(std::string_view socket_type);

// What stands before a message of so many bytes.
struct ZmtpHeader {
  std::array<char, 9> bytes{};
  std::size_t n = 0;
};
ZmtpHeader zmtp_header(std::size_t message_bytes);

struct ZmtpItem {
  enum class Kind {
    ready,  // the other end is one of ours: messages may go
    message,
    parts,    // a message of several parts, thrown away
    ping,     // `bytes` is to be sent back
    foreign,  // it has another mechanism, which `bytes` names: the connection is of no use
    broken,   // it does not speak the protocol, or sends a longer message than is allowed: likewise
  };
  Kind kind = Kind::broken;
  std::string bytes{};
};

// Takes the stream of bytes of one connection apart. Nothing comes after `foreign` or `broken`.
class ZmtpReader {
 public:
  explicit ZmtpReader(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  void put(std::string_view bytes);
  // Nothing: more bytes are needed.
  std::optional<ZmtpItem> next();
  // What it holds of a message that is not whole, once next() has nothing.
  std::size_t begun_bytes() const { return body_.size() + in_.size() - at_; }

 private:
  enum class State { greeting, first_command, frames, ended };

  std::optional<ZmtpItem> end(ZmtpItem::Kind kind, std::string bytes = "");
  std::optional<ZmtpItem> greeted();
  void fill(std::string_view& bytes);
  bool open_frame(std::string_view& bytes);
  std::optional<ZmtpItem> of_command(std::string_view body);

  const std::size_t message_bytes_max_;
  State state_ = State::greeting;
  std::string in_;  // not looked at from at_ on
  std::size_t at_ = 0;
  bool in_frame_ = false;  // its header was read: body_ grows to body_bytes_
  unsigned char flags_ = 0;
  std::size_t body_bytes_ = 0;
  std::string body_;
  bool in_parts_ = false;   // of a message of several
  bool is_broken_ = false;  // by the next header
};

}  // namespace kq::net
