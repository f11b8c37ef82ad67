// The random numbers of a simulated world. They depend on the seed alone, so a seed is the same world on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq::sim {

// SplitMix64 (Steele, Lea and Flood 2014). The standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Returns a number from 0 to n-1; n must be above 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  // Returns a number from `first` to `last`, both included.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  // Returns true with the given probability.
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) < probability * 9007199254740992.0;
  }  // 2^53

 private:
  std::uint64_t state_;
};

}  // namespace kq::sim
