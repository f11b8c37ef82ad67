#include "store/rocks/crc32c.h"

#include <array>

namespace kq::store {
namespace {

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    table[i] = crc;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace kq::store
