// Checks the codec with arbitrary bytes as an encoded message or record.
#pragma once

#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/codec/codec.h"
#include "core/limits.h"

namespace kq::fuzz {

// Returns whether bytes were refused because they exceed the limits of a message.
inline bool is_over_limits(std::string_view bytes, const Error& error) {
  return bytes.size() > kMessageBytesMax ||
         error.message == "message of more than " + std::to_string(kMessageItemsTotalMax) + " items";
}

// Checks that a decoded value is encoded to bytes that decode again, and whose decoded value is encoded to the same
// bytes. The values themselves cannot be compared, because a NaN differs from itself.
//
// The first bytes may leave out every field with its default value, but the encoded value has all fields. So only the
// encoded value may be over the limits of a message.
template <class Decode, class Encode>
void check_decoder(std::string_view bytes, Decode decode, Encode encode) {
  const auto first = decode(bytes);
  if (!first) {
    KQ_CHECK(first.error().kind == ErrorKind::bad_input && !first.error().message.empty());
    return;
  }
  const std::string written = encode(*first);
  const auto second = decode(written);
  if (!second && is_over_limits(written, second.error())) return;
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
