// How much each sender may send. Who sends more loses what is over it; nobody else notices.
//
// A message takes up a share of its sender's second, by its number and its length. Work may be `burst_ms` ahead of the
// clock; what would be further ahead is not taken. Nothing is kept of a sender that is not ahead, so the table is as
// long as the number of those who sent something just now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kq::net {

// Of one name where there are keys, else of one connection. Honest programs stay far below: they wait for answers, and
// what they send at full speed is batches.
struct RateLimits {
  std::int64_t messages_per_s = 100'000;
  std::int64_t bytes_per_s = 512 << 20;
  std::int64_t garbage_per_s = 100;  // messages that mean nothing
  std::int64_t burst_ms = 2'000;
};

class Rates {
 public:
  explicit Rates(const RateLimits& limits) : limits_(limits) {}

  // Whether a message of this length is still within the limits; if so it counts.
  bool allow(std::string_view sender, std::size_t bytes, std::int64_t now_ms);
  // What it sent last meant nothing.
  void blame(std::string_view sender, std::int64_t now_ms);

  std::size_t senders() const { return busy_until_ns_.size(); }

 private:
  std::int64_t& busy_until_ns(std::string_view sender, std::int64_t now_ns);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view sender) const { return std::hash<std::string_view>{}(sender); }
  };
  RateLimits limits_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> busy_until_ns_;
  std::size_t sweep_at_ = 0;
};

}  // namespace kq::net
