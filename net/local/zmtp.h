// The protocol of a connection without keys: the part of ZMTP 3.1 (RFC 23 and 37) with the NULL mechanism that a DEALER
// and a ROUTER need.
//
// Each end sends a greeting of 64 bytes and a READY command, without waiting for the other end, and then messages. A
// message is one frame: a flag byte, a length of 1 or 8 bytes, and the body. A frame may also be a command; the only
// command with an answer is PING. A message of several frames is reported without its content, because kq sends none.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kq::net {

// Returns the first bytes that an end sends: its greeting and its READY command.
std::string zmtp_handshake(std::string_view socket_type);

// The bytes that precede the body of a message.
struct ZmtpHeader {
  std::array<char, 9> bytes{};
  std::size_t size = 0;
};
ZmtpHeader zmtp_header(std::size_t message_bytes);

// One event in the byte stream of a peer.
struct ZmtpItem {
  enum class Kind {
    ready,            // the peer's handshake is complete, so messages may be sent
    message,          // `bytes` is the message
    multipart,        // a message of several frames was dropped
    ping,             // `bytes` is the answer to send
    other_mechanism,  // the peer wants the mechanism named in `bytes`; the connection must be closed
    malformed,        // the bytes are not ZMTP, or a message is longer than allowed; the connection must be closed
  };
  Kind kind = Kind::malformed;
  std::string bytes{};
};

// Splits the byte stream of one connection into items. After `other_mechanism` or `malformed` it returns no more items.
class ZmtpReader {
 public:
  explicit ZmtpReader(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  // Appends received bytes. Must be called only when next() returns an empty optional.
  void put(std::string_view bytes);
  // Returns the next item, or an empty optional if more bytes are needed.
  std::optional<ZmtpItem> next();
  // Returns the number of stored bytes of an incomplete message. Valid after next() has returned an empty optional.
  std::size_t incomplete_bytes() const { return body_.size() + in_.size() - at_; }

 private:
  enum class State { greeting, first_command, frames, ended };

  std::optional<ZmtpItem> finish(ZmtpItem::Kind kind, std::string bytes = "");
  std::optional<ZmtpItem> check_greeting();
  void append_to_body(std::string_view& bytes);
  bool open_frame(std::string_view& bytes);
  std::optional<ZmtpItem> read_command(std::string_view body);

  const std::size_t message_bytes_max_;
  State state_ = State::greeting;
  std::string in_;  // received bytes; those before at_ are already read
  std::size_t at_ = 0;
  bool in_frame_ = false;  // the header of a frame was read, and body_ grows to body_bytes_
  unsigned char flags_ = 0;
  std::size_t body_bytes_ = 0;
  std::string body_;
  bool in_multipart_ = false;  // the next frame belongs to a message of several frames
  bool is_malformed_ = false;  // the next header is invalid
};

}  // namespace kq::net
