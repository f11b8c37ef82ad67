// What the codec promises of any bytes, whichever message or record they claim to be.
#pragma once

#include <string_view>

#include "core/base/check.h"
#include "core/codec/codec.h"
#include "core/limits.h"

namespace kq::fuzz {

// What was understood is written in a form that is understood to the same, and written to the same again. The values
// themselves cannot be compared: a NaN differs from itself.
template <class Decode, class Encode>
void check_decoder(std::string_view bytes, Decode decode, Encode encode) {
  const auto first = decode(bytes);
  if (!first) {
    KQ_CHECK(first.error().kind == ErrorKind::bad_input && !first.error().message.empty());
    return;
  }
  const std::string written = encode(*first);
  const auto second = decode(written);
  KQ_CHECK(second.has_value());
  KQ_CHECK(encode(*second) == written);
}

template <class T>
void check_record(std::string_view bytes) {
  check_decoder(bytes, decode<T>, encode<T>);
}
template <class Body>
void check_message(std::string_view bytes) {
  check_decoder(bytes, decode_message<Body>, encode_message<Body>);
}

}  // namespace kq::fuzz
