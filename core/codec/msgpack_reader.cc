#include "core/codec/msgpack_reader.h"

namespace kq {

// The recursion is limited by open(), which refuses values that are nested too deep.
void MsgpackReader::skip() {
  if (const auto n = try_open_array()) {
    for (std::uint32_t i = 0; i < *n; ++i) skip();
    close();
  } else if (const auto pair_count = try_open_map()) {
    for (std::uint32_t i = 0; i < *pair_count; ++i) {
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
