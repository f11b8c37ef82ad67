// MsgpackWriter appends msgpack values to a string, each in its shortest form. It collects small values in a block of
// its own, so that it does not call the string for each one. MsgpackSizer has the same functions and only computes the
// number of elements and an upper bound of the bytes, with which the caller reserves memory before it writes a long
// message.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kq {

class MsgpackSizer {
 public:
  void nil() { byte_count_ += 1; }
  void boolean(bool) { byte_count_ += 1; }
  void unsigned_integer(std::uint64_t) { byte_count_ += kHeadBytesMax; }
  void signed_integer(std::int64_t) { byte_count_ += kHeadBytesMax; }
  void float64(double) { byte_count_ += kHeadBytesMax; }
  void text(std::string_view text) { byte_count_ += kLengthBytesMax + text.size(); }
  template <std::size_t kBytes>
  void name(const char (&)[kBytes]) {
    byte_count_ += kBytes;
  }
  void binary(std::string_view bytes) { byte_count_ += kLengthBytesMax + bytes.size(); }
  void array(std::size_t n) { count(n); }
  void map(std::size_t n) { count(n); }

  // Returns an upper bound of what the writer writes. The bound is too high by at most a few bytes for each value.
  std::size_t byte_count() const { return byte_count_; }
  // Returns the number of elements of all arrays and maps.
  std::size_t item_count() const { return item_count_; }

 private:
  void count(std::size_t n) {
    byte_count_ += kLengthBytesMax;
    item_count_ += n;
  }

  static constexpr std::size_t kHeadBytesMax = 9;
  static constexpr std::size_t kLengthBytesMax = 5;
  std::size_t byte_count_ = 0;
  std::size_t item_count_ = 0;
};

class MsgpackWriter {
 public:
  // Appends to `out`, which is complete only after the destructor of the writer.
  explicit MsgpackWriter(std::string& out) : out_(out) {}
  ~MsgpackWriter() { flush(); }
  MsgpackWriter(const MsgpackWriter&) = delete;
  MsgpackWriter& operator=(const MsgpackWriter&) = delete;

  void nil() { put_byte(0xC0); }
  void boolean(bool value) { put_byte(value ? 0xC3 : 0xC2); }
  void unsigned_integer(std::uint64_t value) {
    if (value < 0x80) return put_byte(static_cast<std::uint8_t>(value));
    if (value <= UINT8_MAX) return put(0xCC, static_cast<std::uint8_t>(value));
    if (value <= UINT16_MAX) return put(0xCD, static_cast<std::uint16_t>(value));
    if (value <= UINT32_MAX) return put(0xCE, static_cast<std::uint32_t>(value));
    put(0xCF, value);
  }
  void signed_integer(std::int64_t value) {
    if (value >= 0) return unsigned_integer(static_cast<std::uint64_t>(value));
    if (value >= -32) return put_byte(static_cast<std::uint8_t>(value));
    if (value >= INT8_MIN) return put(0xD0, static_cast<std::uint8_t>(value));
    if (value >= INT16_MIN) return put(0xD1, static_cast<std::uint16_t>(value));
    if (value >= INT32_MIN) return put(0xD2, static_cast<std::uint32_t>(value));
    put(0xD3, static_cast<std::uint64_t>(value));
  }
  // Writes nine bytes for every value, because a whole number must keep its type, and -0.0 must not become 0.
  void float64(double value) { put(0xCB, std::bit_cast<std::uint64_t>(value)); }
  // Writes a `str`, which may have any bytes. Names of fields and most values are short and take the first branch.
  void text(std::string_view text) {
    const std::size_t n = text.size();
    if (n < kShortBytes) {
      reserve(1 + kShortBytes);
      block_[used_] = static_cast<char>(0xA0 | n);
      copy_short(block_ + used_ + 1, text.data(), n);
      used_ += 1 + n;
      return;
    }
    length(n, 0xD9, 0xDA, 0xDB);
    append(text);
  }
  // Writes a short text whose length is known at compile time, such as the name of a field.
  template <std::size_t kBytes>
  void name(const char (&text)[kBytes]) {
    static_assert(kBytes <= kShortBytes);
    reserve(kBytes);
    block_[used_] = static_cast<char>(0xA0 | (kBytes - 1));
    std::memcpy(block_ + used_ + 1, text, kBytes - 1);
    used_ += kBytes;
  }
  void binary(std::string_view bytes) {
    length(bytes.size(), 0xC4, 0xC5, 0xC6);
    append(bytes);
  }
  void array(std::size_t n) { count(n, 0x90, 0xDC, 0xDD); }
  void map(std::size_t n) { count(n, 0x80, 0xDE, 0xDF); }

 private:
  static constexpr std::size_t kBlockBytes = 1024;
  static constexpr std::size_t kHeadBytesMax = 9;
  static constexpr std::size_t kShortBytes = 32;  // a shorter text has a head of one byte

  // Copies `n` < kShortBytes bytes by two moves that may overlap, without a call of memcpy.
  static void copy_short(char* to, const char* from, std::size_t n) {
    const auto move = [&]<std::size_t kBytes>() {
      char head[kBytes], tail[kBytes];
      std::memcpy(head, from, kBytes);
      std::memcpy(tail, from + n - kBytes, kBytes);
      std::memcpy(to, head, kBytes);
      std::memcpy(to + n - kBytes, tail, kBytes);
    };
    if (n >= 16) return move.template operator()<16>();
    if (n >= 8) return move.template operator()<8>();
    if (n >= 4) return move.template operator()<4>();
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }

  void count(std::size_t n, unsigned fixed, std::uint8_t wide, std::uint8_t widest) {
    if (n < 16) return put_byte(static_cast<std::uint8_t>(fixed | n));
    if (n <= UINT16_MAX) return put(wide, static_cast<std::uint16_t>(n));
    put(widest, static_cast<std::uint32_t>(n));
  }
  void length(std::size_t n, std::uint8_t narrow, std::uint8_t wide, std::uint8_t widest) {
    if (n <= UINT8_MAX) return put(narrow, static_cast<std::uint8_t>(n));
    if (n <= UINT16_MAX) return put(wide, static_cast<std::uint16_t>(n));
    put(widest, static_cast<std::uint32_t>(n));
  }

  // Writes a type byte and its big-endian argument.
  template <class T>
  void put(std::uint8_t type, T value) {
    reserve(kHeadBytesMax);
    block_[used_] = static_cast<char>(type);
    for (std::size_t i = 0; i < sizeof value; ++i)
      block_[used_ + 1 + i] = static_cast<char>(value >> 8 * (sizeof value - 1 - i));
    used_ += 1 + sizeof value;
  }
  void put_byte(std::uint8_t byte) {
    reserve(1);
    block_[used_++] = static_cast<char>(byte);
  }
  void append(std::string_view bytes) {
    if (bytes.size() > kBlockBytes / 2) {
      flush();
      out_.append(bytes);
      return;
    }
    reserve(bytes.size());
    std::memcpy(block_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  void reserve(std::size_t n) {
    if (kBlockBytes - used_ < n) flush();
  }
  void flush() {
    out_.append(block_, used_);
    used_ = 0;
  }

  std::string& out_;
  std::size_t used_ = 0;
  char block_[kBlockBytes];
};

}  // namespace kq
