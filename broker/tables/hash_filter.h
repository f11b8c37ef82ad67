// A Bloom filter of hashes (Bloom, Communications of the ACM 13, 1970): a set in a few bits for each member. It never
// denies a member, and sometimes takes another hash for a member.
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
  static constexpr std::uint64_t kBitsPerHash = 16;  // with four bits set for each hash: one false positive in 400
  static constexpr std::uint64_t kBitsMin = 1u << 12;
  static constexpr std::uint64_t kBitsMax = 1ull << 29;  // 64 MB; beyond 30 million hashes false positives are frequent

  HashFilter() = default;
  // Filters with different salts have different false positives.
  HashFilter(std::uint64_t hash_count, std::uint64_t salt)
      : bits_(std::bit_ceil(std::clamp(hash_count * kBitsPerHash, kBitsMin, kBitsMax)) / 64), salt_(salt) {}

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

  // The four words of a SHA-256 serve as four hash functions. The multiplication makes the place depend on every bit
  // of the word and of the salt.
  std::uint64_t place(const Hash& hash, int i) const {
    std::uint64_t word = 0;
    std::memcpy(&word, hash.bytes.data() + static_cast<std::size_t>(i) * sizeof word, sizeof word);
    word = (word ^ salt_) * 0x9E3779B97F4A7C15u;
    return (word ^ word >> 32) & (bits_.size() * 64 - 1);
  }
  std::uint64_t mask(const Hash& hash, int i) const { return std::uint64_t{1} << (place(hash, i) % 64); }

  std::vector<std::uint64_t> bits_;  // the number of words is a power of two
  std::uint64_t salt_ = 0;
};

}  // namespace kq::broker
