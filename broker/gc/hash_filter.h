// Which hashes were named, in a few bits of RAM for each: a set that never forgets a member and sometimes takes a
// stranger for one (Bloom, Communications of the ACM 13, 1970).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/bytes/hash.h"

namespace kq::broker {

class HashFilter {
 public:
  static constexpr std::uint64_t kBitsPerHash = 16;  // with four of them set one stranger in four hundred is taken in
  static constexpr std::uint64_t kBitsMin = 1u << 12;
  static constexpr std::uint64_t kBitsMax = 1ull << 29;  // 64 MB: beyond 30 million hashes strangers become frequent

  HashFilter() = default;
  // `salt`: strangers that one filter takes in are strangers to the next.
  HashFilter(std::uint64_t hashes_n, std::uint64_t salt)
      : bits_(std::bit_ceil(std::clamp(hashes_n * kBitsPerHash, kBitsMin, kBitsMax)) / 64), salt_(salt) {}

  void add(const Hash& hash) {
    for (int i = 0; i < kProbes; ++i) bits_[place(hash, i) / 64] |= mask(hash, i);
  }
  bool may_hold(const Hash& hash) const {
    for (int i = 0; i < kProbes; ++i) {
      if ((bits_[place(hash, i) / 64] & mask(hash, i)) == 0) return false;
    }
    return true;
  }

 private:
  static constexpr int kProbes = 4;

  // The four words of a SHA-256 are four hashes already; the multiplication lets every bit of them and of the salt
  // count.
  std::uint64_t place(const Hash& hash, int i) const {
    std::uint64_t word = 0;
    std::memcpy(&word, hash.bytes.data() + static_cast<std::size_t>(i) * sizeof word, sizeof word);
    word = (word ^ salt_) * 0x9E3779B97F4A7C15u;
    return (word ^ word >> 32) & (bits_.size() * 64 - 1);
  }
  std::uint64_t mask(const Hash& hash, int i) const { return std::uint64_t{1} << (place(hash, i) % 64); }

  std::vector<std::uint64_t> bits_;  // a power of two
  std::uint64_t salt_ = 0;
};

}  // namespace kq::broker
