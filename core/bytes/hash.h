// SHA-256, which kq uses for the names of blobs and problems, the keys of jobs, and the build cache.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kq {

struct Hash {
  std::array<std::uint8_t, 32> bytes{};

  friend auto operator<=>(const Hash&, const Hash&) = default;
};

Hash sha256(std::string_view data);

std::string to_hex(const Hash& hash);                     // 64 lower-case digits
std::optional<Hash> hash_from_hex(std::string_view hex);  // nothing unless exactly 64 hexadecimal digits

// The 32 raw bytes, for keys on disk.
std::string_view as_bytes(const Hash& hash);
std::optional<Hash> hash_from_bytes(std::string_view raw);

}  // namespace kq
