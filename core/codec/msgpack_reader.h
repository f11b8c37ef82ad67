// A pull reader of msgpack, which reads one value after the other from bytes that may be hostile. It builds no tree.
//
// Each try_ function reads the next value if that has the type of the function; otherwise it returns nothing and leaves
// the position unchanged. Malformed is thrown where the bytes themselves are wrong: a truncated value, a type that the
// protocol does not use, or more elements than core/limits.h allows. The caller must read each element of an opened
// array or map and then call close(). Text and binary values are views of the input.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/limits.h"

namespace kq {

// Thrown for malformed bytes. `where` is the path of the failing field, to which each enclosing struct adds its part.
struct Malformed {
  std::string where;
  std::string what;
};
// Thrown where a message has more than kMessageItemsTotalMax elements in all.
struct TooManyItems {};

class MsgpackReader {
 public:
  explicit MsgpackReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  struct Integer {
    std::uint64_t bits = 0;  // the bits of a std::int64_t where `negative` is true
    bool negative = false;
  };

  bool try_nil();
  std::optional<bool> try_boolean();
  std::optional<Integer> try_integer();
  std::optional<double> try_float64();
  std::optional<std::string_view> try_text();
  // Reads the next value if it is this text; returns whether it is.
  template <std::size_t kBytes>
  bool try_text(const char (&text)[kBytes]);
  std::optional<std::string_view> try_binary();
  // Returns the number of elements or pairs that follow. The number is never larger than the number of bytes that are
  // left, so a caller may allocate memory for the elements.
  std::optional<std::uint32_t> try_open_array();
  std::optional<std::uint32_t> try_open_map();
  void close() { --depth_; }

  // Skips the next value of any type.
  void skip();

  std::size_t rest_bytes() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  [[noreturn]] static void refuse(const char* what) { throw Malformed{"", what}; }

  std::uint8_t type() const {
    if (at_ == end_) refuse("the message ends early");
    return static_cast<std::uint8_t>(*at_);
  }
  static_assert(std::endian::native == std::endian::little);
  // Reads the type byte and its big-endian argument, and returns the argument.
  template <class T>
  T argument() {
    if (rest_bytes() < 1 + sizeof(T)) refuse("the message ends early");
    T value = 0;
    std::memcpy(&value, at_ + 1, sizeof value);
    // The compiler would not turn a loop over the bytes into a swap.
    if constexpr (sizeof value == 8) value = __builtin_bswap64(value);
    if constexpr (sizeof value == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof value == 2) value = __builtin_bswap16(value);
    at_ += 1 + sizeof(T);
    return value;
  }
  std::string_view take(std::size_t n) {
    if (rest_bytes() < n) refuse("the message ends early");
    const std::string_view bytes(at_, n);
    at_ += n;
    return bytes;
  }
  std::uint32_t open(std::uint32_t n, std::size_t bytes_each);

  const char* at_;
  const char* end_;
  std::size_t depth_ = 0;
  std::size_t item_count_ = 0;
};

// ---- the common cases, inline ---------------------------------------------------------------------------------------

inline bool MsgpackReader::try_nil() {
  if (type() != 0xC0) return false;
  ++at_;
  return true;
}

inline std::optional<bool> MsgpackReader::try_boolean() {
  const std::uint8_t t = type();
  if (t != 0xC2 && t != 0xC3) return std::nullopt;
  ++at_;
  return t == 0xC3;
}

inline std::optional<MsgpackReader::Integer> MsgpackReader::try_integer() {
  const std::uint8_t t = type();
  const auto of_signed = [](std::int64_t value) { return Integer{static_cast<std::uint64_t>(value), value < 0}; };
  if (t < 0x80) {
    ++at_;
    return Integer{t, false};
  }
  if (t >= 0xE0) {
    ++at_;
    return of_signed(static_cast<std::int8_t>(t));
  }
  switch (t) {
    case 0xCC:
      return Integer{argument<std::uint8_t>(), false};
    case 0xCD:
      return Integer{argument<std::uint16_t>(), false};
    case 0xCE:
      return Integer{argument<std::uint32_t>(), false};
    case 0xCF:
      return Integer{argument<std::uint64_t>(), false};
    case 0xD0:
      return of_signed(static_cast<std::int8_t>(argument<std::uint8_t>()));
    case 0xD1:
      return of_signed(static_cast<std::int16_t>(argument<std::uint16_t>()));
    case 0xD2:
      return of_signed(static_cast<std::int32_t>(argument<std::uint32_t>()));
    case 0xD3:
      return of_signed(static_cast<std::int64_t>(argument<std::uint64_t>()));
    default:
      return std::nullopt;
  }
}

inline std::optional<double> MsgpackReader::try_float64() {
  if (type() != 0xCB) return std::nullopt;
  return std::bit_cast<double>(argument<std::uint64_t>());
}

inline std::optional<std::string_view> MsgpackReader::try_text() {
  const std::uint8_t t = type();
  if ((t & 0xE0) == 0xA0) {
    ++at_;
    return take(t & 0x1F);
  }
  if (t == 0xD9) return take(argument<std::uint8_t>());
  if (t == 0xDA) return take(argument<std::uint16_t>());
  if (t == 0xDB) return take(argument<std::uint32_t>());
  return std::nullopt;
}

template <std::size_t kBytes>
bool MsgpackReader::try_text(const char (&text)[kBytes]) {
  static_assert(kBytes <= 32, "a longer text has a head of more than one byte");
  constexpr std::size_t kTextBytes = kBytes - 1;
  const std::uint8_t t = type();
  if (t == (0xA0 | kTextBytes)) {
    if (rest_bytes() < kBytes || std::memcmp(at_ + 1, text, kTextBytes) != 0) return false;
    at_ += kBytes;
    return true;
  }
  if (t < 0xD9 || t > 0xDB) return false;
  const char* const before = at_;
  if (try_text() == std::string_view(text, kTextBytes)) return true;
  at_ = before;
  return false;
}

inline std::optional<std::string_view> MsgpackReader::try_binary() {
  const std::uint8_t t = type();
  if (t == 0xC4) return take(argument<std::uint8_t>());
  if (t == 0xC5) return take(argument<std::uint16_t>());
  if (t == 0xC6) return take(argument<std::uint32_t>());
  return std::nullopt;
}

inline std::optional<std::uint32_t> MsgpackReader::try_open_array() {
  const std::uint8_t t = type();
  if ((t & 0xF0) == 0x90) {
    ++at_;
    return open(t & 0x0F, 1);
  }
  if (t == 0xDC) return open(argument<std::uint16_t>(), 1);
  if (t == 0xDD) return open(argument<std::uint32_t>(), 1);
  return std::nullopt;
}

inline std::optional<std::uint32_t> MsgpackReader::try_open_map() {
  const std::uint8_t t = type();
  if ((t & 0xF0) == 0x80) {
    ++at_;
    return open(t & 0x0F, 2);
  }
  if (t == 0xDE) return open(argument<std::uint16_t>(), 2);
  if (t == 0xDF) return open(argument<std::uint32_t>(), 2);
  return std::nullopt;
}

inline std::uint32_t MsgpackReader::open(std::uint32_t n, std::size_t bytes_each) {
  item_count_ += n;
  if (item_count_ > kMessageItemsTotalMax) throw TooManyItems{};
  if (n > kMessageItemsMax) refuse("an array or map with more elements than are allowed");
  if (rest_bytes() < n * bytes_each) refuse("the message ends early");
  if (++depth_ > kMessageDepthMax) refuse("arrays and maps inside one another deeper than is allowed");
  return n;
}

}  // namespace kq
