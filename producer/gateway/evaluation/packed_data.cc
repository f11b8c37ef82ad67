#include "producer/gateway/evaluation/packed_data.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/check.h"

namespace kq::gateway::evaluation {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase85 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
constexpr int kLevel = 6;

constexpr std::array<std::int8_t, 256> values_of(std::string_view alphabet) {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}
constexpr std::array<std::int8_t, 256> kBase64Values = values_of(kBase64);

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

Expected<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_blank(c)) continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::int8_t value = kBase64Values[static_cast<unsigned char>(c)];
    if (value < 0 || padding > 0) return bad_input("is no base64 at character " + std::to_string(i));
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++digits % 4 == 0) {
      for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFF);
    }
  }
  const std::size_t rest = digits % 4;
  if (rest == 1 || padding > 2 || (padding > 0 && (digits + padding) % 4 != 0))
    return bad_input("is base64 that is cut off, it has " + std::to_string(digits) + " digits");
  if (rest == 2) bytes += static_cast<char>(bits >> 4 & 0xFF);
  if (rest == 3) {
    bytes += static_cast<char>(bits >> 10 & 0xFF);
    bytes += static_cast<char>(bits >> 2 & 0xFF);
  }
  return bytes;
}

Expected<std::string> inflate(std::string_view compressed, std::size_t size) {
  // One byte more than is right shows that there would be more.
  std::string bytes(size + 1, '\0');
  uLongf written = bytes.size();
  uLong read = compressed.size();
  const int code = uncompress2(reinterpret_cast<Bytef*>(bytes.data()), &written,
                               reinterpret_cast<const Bytef*>(compressed.data()), &read);
  if (code == Z_OK && written == size) {
    bytes.resize(size);
    return bytes;
  }
  if (code == Z_BUF_ERROR && written == bytes.size())
    return bad_input("has more than " + std::to_string(size) + " bytes when unpacked");
  if (code == Z_OK)
    return bad_input("has " + std::to_string(written) + " bytes when unpacked, must have " + std::to_string(size));
  return bad_input("is not what zlib has compressed");
}

std::string pack(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string compressed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), kLevel);
  KQ_CHECK(code == Z_OK);
  compressed.resize(size);

  std::string text;
  text.reserve(compressed.size() / 4 * 5 + 5);
  for (std::size_t at = 0; at < compressed.size(); at += 4) {
    const std::size_t count = std::min<std::size_t>(4, compressed.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i)
      word = word << 8 | (i < count ? static_cast<unsigned char>(compressed[at + i]) : 0u);
    std::array<char, 5> digits{};
    for (std::size_t i = digits.size(); i-- > 0; word /= 85) digits[i] = kBase85[word % 85];
    text.append(digits.data(), count + 1);
  }
  return text;
}

}  // namespace kq::gateway::evaluation
