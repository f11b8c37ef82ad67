// Limits the rate of each sender with token buckets. Messages over the limit of a sender are dropped; other senders are
// not affected.
//
// A bucket is stored as the time until which the messages of its sender use up the sender's rate. Each message moves
// that time forward by 1 s / messages_per_s plus its length in bytes * 1 s / bytes_per_s. A message is refused while
// that time is more than `burst_ms` ahead of the clock. For example, with 1,000 messages per second and burst_ms = 100,
// a sender may send 101 empty messages at once and then one per millisecond. Buckets whose time has passed are removed,
// so the table is not much longer than the number of recent senders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kq::net {

// The limits of one sender: the name of a key, or one connection without keys. Correct programs stay far below them,
// because they wait for answers and send batches when they send at full speed.
struct RateLimits {
  std::int64_t messages_per_s = 100'000;
  std::int64_t bytes_per_s = 512 << 20;
  std::int64_t garbage_per_s = 100;  // malformed messages
  std::int64_t burst_ms = 2'000;
};

// A token bucket for each sender.
class TokenBuckets {
 public:
  explicit TokenBuckets(const RateLimits& limits) : limits_(limits) {}

  // Returns whether a message of this length is within the sender's limits, and counts it if so.
  bool allow(std::string_view sender, std::size_t bytes, std::int64_t now_ms);
  // Moves the sender's time forward by 1 s / garbage_per_s for a malformed message.
  void count_violation(std::string_view sender, std::int64_t now_ms);

  std::size_t sender_count() const { return busy_until_ns_.size(); }

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
