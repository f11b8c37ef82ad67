// What a broker makes of those who send to it: who may send how much, and what the log is told of them.
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

class Senders {
 public:
  explicit Senders(const RateLimits& limits) : limits_(limits), rates_(limits) {}

  // Whether a packet of this length is within its sender's limits. If not it is to be dropped and not answered: every
  // message may be lost and is asked for again, and answers would double the flood.
  bool allow(const Packet& packet, std::size_t bytes, std::int64_t now_ms);
  // It means nothing, for the reason given.
  void blame(const Packet& packet, std::string_view why, std::int64_t now_ms);

  // A line for the log about whoever sent the packet; `subject` as in FewNotes.
  void note(const std::string& subject, const Packet& packet, std::string_view what, std::int64_t now_ms);
  void note(const std::string& subject, const std::string& text, std::int64_t now_ms);
  std::vector<std::string> take_notes(std::int64_t now_ms) { return notes_.take(now_ms); }

 private:
  RateLimits limits_;
  Rates rates_;
  FewNotes notes_;
};

}  // namespace kq::net
