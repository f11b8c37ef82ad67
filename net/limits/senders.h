// Applies the rate limits of the broker's peers, and keeps log lines about peers that exceed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/limits/log_rate_limiter.h"
#include "net/limits/token_bucket.h"
#include "net/link.h"

namespace kq::net {

// The rates of all peers, and the log lines about them.
class Senders {
 public:
  explicit Senders(const RateLimits& limits) : limits_(limits), rates_(limits) {}

  // Returns whether a packet of this length is within its sender's limits. If not, the caller drops the packet without
  // an answer: the sender asks again for anything that is lost, and answers would double the flood.
  bool allow(const Packet& packet, std::size_t bytes, std::int64_t now_ms);
  // Charges the sender for a malformed packet and keeps a log line with the reason.
  void blame(const Packet& packet, std::string_view why, std::int64_t now_ms);

  // Keeps a log line about the sender of the packet, or a line of any text. `subject` is as in FewNotes.
  void note(const std::string& subject, const Packet& packet, std::string_view what, std::int64_t now_ms);
  void note(const std::string& subject, const std::string& text, std::int64_t now_ms);
  std::vector<std::string> take_notes(std::int64_t now_ms) { return notes_.take(now_ms); }

 private:
  RateLimits limits_;
  Rates rates_;
  FewNotes notes_;
};

}  // namespace kq::net
