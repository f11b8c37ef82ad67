// Decodes a body in the chunked coding (RFC 9112, section 7.1), in pieces as they arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kq::net {

class ChunkDecoder {
 public:
  // Appends the content of the next bytes to `body`, and returns how many of the bytes belong to this body. It takes
  // fewer than all where the body is complete, malformed or longer than `body_bytes_max`.
  std::size_t take(std::string_view bytes, std::string& body, std::size_t body_bytes_max);

  bool is_complete() const { return state_ == State::complete; }
  bool is_malformed() const { return state_ == State::malformed; }
  bool is_too_long() const { return state_ == State::too_long; }

 private:
  enum class State {
    size,
    extension,
    size_end,
    content,
    content_end_cr,
    content_end_lf,
    trailer,
    complete,
    malformed,
    too_long
  };
  void take_one(char c, std::size_t body_bytes, std::size_t body_bytes_max);

  State state_ = State::size;
  std::uint64_t left_ = 0;      // bytes of the present chunk that have not arrived
  std::size_t digits_ = 0;      // of the present size
  std::size_t overhead_ = 0;    // bytes of extensions and trailers so far
  std::size_t line_bytes_ = 0;  // of the present line of the trailer
};

inline constexpr std::size_t kChunkOverheadBytesMax = 4'096;  // of the extensions and trailers of one body

}  // namespace kq::net
