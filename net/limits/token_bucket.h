// Limits the rate of each sender. Packets over the limit of a sender are dropped; other senders are not affected.
//
// Each message takes a share of its sender's second, computed from the message count and the length. A sender may be up
// to `burst_ms` ahead of the clock; further messages are refused. Only senders that are ahead of the clock are stored,
// so the table is no longer than the number of recent senders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kq::net {

// The limits of one name, or of one connection without keys. Correct programs stay far below them, because they wait
// for answers and send batches when they send at full speed.
struct RateLimits {
  std::int64_t messages_per_s = 100'000;
  std::int64_t bytes_per_s = 512 << 20;
  std::int64_t garbage_per_s = 100;  // malformed messages
  std::int64_t burst_ms = 2'000;
};

// A token bucket for each sender.
class Rates {
 public:
  explicit Rates(const RateLimits& limits) : limits_(limits) {}

  // Returns whether a message of this length is within the sender's limits, and counts it if so.
  bool allow(std::string_view sender, std::size_t bytes, std::int64_t now_ms);
  // Charges the sender for a malformed message.
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
