#include "core/codec/msgpack_reader.h"

namespace kq {

// By recursion: no deeper than open() allows.
void MsgpackReader::skip() {
  if (const auto n = try_open_array()) {
    for (std::uint32_t i = 0; i < *n; ++i) skip();
    close();
  } else if (const auto pairs_n = try_open_map()) {
    for (std::uint32_t i = 0; i < *pairs_n; ++i) {
      skip();
      skip();
    }
    close();
  } else if (!try_text() && !try_integer() && !try_nil() && !try_boolean() && !try_float64() && !try_binary()) {
    if (type() != 0xCA) refuse("a type that the protocol does not use");
    argument<std::uint32_t>();  // a 32-bit float
  }
}

}  // namespace kq
