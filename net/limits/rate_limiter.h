// Applies the rate limits of the broker's peers, and keeps log lines about peers that exceed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/limits/log_rate_limiter.h"
#include "net/limits/token_buckets.h"
#include "net/link.h"

namespace kq::net {

// Limits the rate of each sender, and limits the log lines about senders.
class RateLimiter {
 public:
  explicit RateLimiter(const RateLimits& limits) : limits_(limits), buckets_(limits) {}

  // Returns whether a packet of this length is within its sender's limits. If not, the caller drops the packet without
  // an answer: the sender asks again for anything that is lost, and answers would double the flood.
  bool allow(const Packet& packet, std::size_t bytes, std::int64_t now_ms);
  // Lowers what the sender of a malformed packet may send, and keeps a log line with the reason `why`.
  void count_violation(const Packet& packet, std::string_view why, std::int64_t now_ms);

  // Keeps a log line about the sender of the packet, which names the sender and continues with `what`.
  // LogRateLimiter limits the lines with the same `subject` and address.
  void log(const std::string& subject, const Packet& packet, std::string_view what, std::int64_t now_ms);
  // Keeps the log line `text`. LogRateLimiter limits the lines with the same `subject`.
  void log(const std::string& subject, const std::string& text, std::int64_t now_ms);
  // Returns the lines kept since the last call, as LogRateLimiter::take() does.
  std::vector<std::string> take_log_lines(std::int64_t now_ms) { return log_.take(now_ms); }

 private:
  RateLimits limits_;
  TokenBuckets buckets_;
  LogRateLimiter log_;
};

}  // namespace kq::net
