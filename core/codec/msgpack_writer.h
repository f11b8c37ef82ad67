// Writes msgpack values into a string, each in its shortest form. Small values gather in a block first: a field costs
// no call of the string. MsgpackSizer takes the same calls and only counts: a long message is then allocated once, and
// not copied as it grows.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kq {

class MsgpackSizer {
 public:
  void nil() { bytes_n_ += 1; }
  void boolean(bool) { bytes_n_ += 1; }
  void unsigned_integer(std::uint64_t) { bytes_n_ += kHeadBytesMax; }
  void signed_integer(std::int64_t) { bytes_n_ += kHeadBytesMax; }
  void float64(double) { bytes_n_ += kHeadBytesMax; }
  void text(std::string_view text) { bytes_n_ += kLengthBytesMax + text.size(); }
  template <std::size_t kBytes>
  void name(const char (&)[kBytes]) {
    bytes_n_ += kBytes;
  }
  void binary(std::string_view bytes) { bytes_n_ += kLengthBytesMax + bytes.size(); }
  void array(std::size_t) { bytes_n_ += kLengthBytesMax; }
  void map(std::size_t) { bytes_n_ += kLengthBytesMax; }

  // Never less than what the writer will write, and more by a few bytes per value at most.
  std::size_t bytes_n() const { return bytes_n_; }

 private:
  static constexpr std::size_t kHeadBytesMax = 9;
  static constexpr std::size_t kLengthBytesMax = 5;
  std::size_t bytes_n_ = 0;
};

class MsgpackWriter {
 public:
  // Appends to `out`; all of it is there when the writer is gone.
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
  // Always nine bytes: the type of a value must not depend on whether it is whole, and -0.0 is not 0.
  void float64(double value) { put(0xCB, std::bit_cast<std::uint64_t>(value)); }
  // Text and bytes are alike to the format: `str` holds any bytes.
  void text(std::string_view text) {
    const std::size_t n = text.size();
    if (n < kShortBytes) {  // nearly all: names of fields, and most values
      reserve(1 + kShortBytes);
      block_[used_] = static_cast<char>(0xA0 | n);
      copy_short(block_ + used_ + 1, text.data(), n);
      used_ += 1 + n;
      return;
    }
    length(n, 0xD9, 0xDA, 0xDB);
    append(text);
  }
  // A short text whose length the compiler knows, as a field's name: head and text in one.
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
  static constexpr std::size_t kShortBytes = 32;  // text below it has a head of one byte

  // In two moves that may overlap, without a call.
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

  // A type byte and its argument, big-endian.
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
