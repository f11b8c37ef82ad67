#include "net/local/zmtp.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace kq::net {
namespace {

constexpr std::size_t kGreetingBytes = 64;
constexpr std::string_view kSignature("\xFF\0\0\0\0\0\0\0\x01\x7F", 10);
constexpr std::size_t kSignatureEnd =
    9;  // index of the last byte; the bytes between the first and the last are ignored
constexpr char kVersion = 3;
constexpr std::size_t kMechanismAt = 12;
constexpr std::size_t kMechanismBytes = 20;
constexpr std::string_view kMechanism = "NULL";

constexpr unsigned char kMore = 1;
constexpr unsigned char kLong = 2;
constexpr unsigned char kCommand = 4;
constexpr std::size_t kCommandBytesMax = 4'096;
constexpr std::size_t kShortBytesMax = 255;
constexpr std::size_t kBodyReserved = 1u << 20;  // memory reserved at most for an announced length

constexpr std::string_view kReady("\5READY");
constexpr std::string_view kPing("\4PING");
constexpr std::string_view kPong("\4PONG");
constexpr std::size_t kPingTtlBytes = 2;
constexpr std::size_t kPingContextMax = 16;

std::string command(std::string_view body) {
  return std::string{static_cast<char>(kCommand), static_cast<char>(body.size())}.append(body);
}

}  // namespace

std::string zmtp_handshake(std::string_view socket_type) {
  std::string greeting(kSignature);
  greeting += {kVersion, 1};
  greeting += kMechanism;
  greeting.resize(kGreetingBytes, '\0');
  std::string ready(kReady);
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string_view>{"Socket-Type", socket_type}, {"Identity", ""}}) {
    ready += static_cast<char>(name.size());
    ready += name;
    ready += {0, 0, 0, static_cast<char>(value.size())};
    ready += value;
  }
  return greeting + command(ready);
}

ZmtpHeader zmtp_header(std::size_t message_bytes) {
  ZmtpHeader header;
  if (message_bytes <= kShortBytesMax) {
    header.bytes[1] = static_cast<char>(message_bytes);
    header.size = 2;
    return header;
  }
  header.bytes[0] = kLong;
  for (std::size_t i = 0; i < 8; ++i)
    header.bytes[1 + i] = static_cast<char>(static_cast<std::uint64_t>(message_bytes) >> 8 * (7 - i));
  header.size = 9;
  return header;
}

void ZmtpReader::put(std::string_view bytes) {
  in_.erase(0, std::exchange(at_, 0));  // keeps part of a header, or nothing
  if (in_.empty()) {
    // Copies the bytes of a long message directly to body_.
    append_to_body(bytes);
    const bool is_complete = in_frame_ && body_.size() == body_bytes_;
    if (state_ == State::frames && !is_complete && open_frame(bytes)) append_to_body(bytes);
  }
  in_.append(bytes);
}

void ZmtpReader::append_to_body(std::string_view& bytes) {
  if (!in_frame_) return;
  const std::size_t n = std::min(bytes.size(), body_bytes_ - body_.size());
  body_.append(bytes.substr(0, n));
  bytes.remove_prefix(n);
}

std::optional<ZmtpItem> ZmtpReader::next() {
  if (state_ == State::ended) return std::nullopt;
  if (state_ == State::greeting) {
    if (auto wrong = check_greeting()) return wrong;
    if (state_ == State::greeting) return std::nullopt;
  }
  for (std::string_view rest = std::string_view(in_).substr(at_); in_frame_ || open_frame(rest);) {
    append_to_body(rest);
    at_ = in_.size() - rest.size();
    if (body_.size() < body_bytes_) return std::nullopt;
    in_frame_ = false;
    std::string body = std::exchange(body_, {});
    if ((flags_ & kCommand) != 0) {
      if (auto item = read_command(body)) return item;
      continue;
    }
    if (state_ == State::first_command) return finish(ZmtpItem::Kind::malformed);
    if ((flags_ & kMore) != 0) {
      in_multipart_ = true;
      continue;
    }
    if (std::exchange(in_multipart_, false)) return ZmtpItem{ZmtpItem::Kind::multipart, ""};
    return ZmtpItem{ZmtpItem::Kind::message, std::move(body)};
  }
  if (!is_malformed_) return std::nullopt;
  return finish(ZmtpItem::Kind::malformed);
}

std::optional<ZmtpItem> ZmtpReader::finish(ZmtpItem::Kind kind, std::string bytes) {
  state_ = State::ended;
  return ZmtpItem{kind, std::move(bytes)};
}

// Returns an item if the bytes received so far cannot be a greeting of the NULL mechanism. Moves to the next state when
// the greeting is complete and valid.
std::optional<ZmtpItem> ZmtpReader::check_greeting() {
  const std::string_view received = std::string_view(in_).substr(at_);
  const auto differs = [&](std::size_t at, char wanted) { return received.size() > at && received[at] != wanted; };
  if (differs(0, kSignature.front()) || differs(kSignatureEnd, kSignature.back()) ||
      differs(kSignature.size(), kVersion)) {
    return finish(ZmtpItem::Kind::malformed);
  }
  if (received.size() < kGreetingBytes) return std::nullopt;
  std::string_view mechanism = received.substr(kMechanismAt, kMechanismBytes);
  mechanism = mechanism.substr(0, mechanism.find('\0'));
  if (mechanism != kMechanism) return finish(ZmtpItem::Kind::other_mechanism, std::string(mechanism));
  at_ += kGreetingBytes;
  state_ = State::first_command;
  return std::nullopt;
}

// Reads the header of a frame and removes it from `bytes`. Returns false if the header is incomplete or invalid.
bool ZmtpReader::open_frame(std::string_view& bytes) {
  if (bytes.size() < 2) return false;
  flags_ = static_cast<unsigned char>(bytes[0]);
  std::uint64_t size = static_cast<unsigned char>(bytes[1]);
  std::size_t header_bytes = 2;
  if ((flags_ & kLong) != 0) {
    header_bytes = 9;
    if (bytes.size() < header_bytes) return false;
    for (std::size_t i = 2; i < header_bytes; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
  }
  const bool is_command = (flags_ & kCommand) != 0;
  const bool is_known = (flags_ & ~(kMore | kLong | kCommand)) == 0 && !(is_command && (flags_ & kMore) != 0);
  is_malformed_ = !is_known || size > (is_command ? kCommandBytesMax : message_bytes_max_);
  if (is_malformed_) return false;
  bytes.remove_prefix(header_bytes);
  in_frame_ = true;
  body_bytes_ = static_cast<std::size_t>(size);
  body_.reserve(std::min(body_bytes_, kBodyReserved));
  return true;
}

std::optional<ZmtpItem> ZmtpReader::read_command(std::string_view body) {
  if (state_ == State::first_command) {
    if (!body.starts_with(kReady)) return finish(ZmtpItem::Kind::malformed);
    state_ = State::frames;
    return ZmtpItem{ZmtpItem::Kind::ready, ""};
  }
  if (!body.starts_with(kPing) || body.size() < kPing.size() + kPingTtlBytes) return std::nullopt;
  const std::string_view context = body.substr(kPing.size() + kPingTtlBytes).substr(0, kPingContextMax);
  return ZmtpItem{ZmtpItem::Kind::ping, command(std::string(kPong).append(context))};
}

}  // namespace kq::net
