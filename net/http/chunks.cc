#include "net/http/chunks.h"

#include <algorithm>

namespace kq::net {
namespace {

constexpr std::size_t kSizeDigitsMax = 12;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::size_t ChunkDecoder::take(std::string_view bytes, std::string& body, std::size_t body_bytes_max) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::complete && state_ != State::malformed && state_ != State::too_long) {
    if (state_ != State::content) {
      take_one(bytes[at++], body.size(), body_bytes_max);
      continue;
    }
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
    body.append(bytes, at, part);
    at += part;
    left_ -= part;
    if (left_ == 0) state_ = State::content_end_cr;
  }
  return at;
}

// Advances by one byte that is no content.
void ChunkDecoder::take_one(char c, std::size_t body_bytes, std::size_t body_bytes_max) {
  const auto expect = [&](char wanted, State next) { state_ = c == wanted ? next : State::malformed; };
  switch (state_) {
    case State::size:
      if (const int digit = hex_digit(c); digit >= 0 && digits_ < kSizeDigitsMax) {
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        ++digits_;
      } else if (digits_ > 0 && (c == ';' || c == ' ' || c == '\t')) {
        state_ = State::extension;
      } else if (digits_ > 0 && c == '\r') {
        state_ = State::size_end;
      } else {
        state_ = State::malformed;
      }
      return;
    case State::extension:
      if (++overhead_ > kChunkOverheadBytesMax || c == '\n') state_ = State::malformed;
      if (c == '\r') state_ = State::size_end;
      return;
    case State::size_end:
      expect('\n', left_ == 0 ? State::trailer : State::content);
      if (state_ == State::content && left_ > body_bytes_max - std::min(body_bytes, body_bytes_max))
        state_ = State::too_long;
      digits_ = 0;
      return;
    case State::content_end_cr:
      return expect('\r', State::content_end_lf);
    case State::content_end_lf:
      return expect('\n', State::size);
    case State::trailer:
      if (++overhead_ > kChunkOverheadBytesMax) state_ = State::malformed;
      if (c == '\n') {
        if (line_bytes_ == 0) state_ = State::complete;
        line_bytes_ = 0;
      } else if (c != '\r') {
        ++line_bytes_;
      }
      return;
    case State::content:
    case State::complete:
    case State::malformed:
    case State::too_long:
      return;
  }
}

}  // namespace kq::net
