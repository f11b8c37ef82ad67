#include "net/limits/token_buckets.h"

#include <algorithm>

namespace kq::net {
namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::size_t kSweepAtLeast = 1'024;  // number of senders below which the table is not swept

}  // namespace

bool TokenBuckets::allow(std::string_view sender, std::size_t bytes, std::int64_t now_ms) {
  const std::int64_t now_ns = now_ms * kNsPerMs;
  std::int64_t& busy_until = busy_until_ns(sender, now_ns);
  if (busy_until - now_ns > limits_.burst_ms * kNsPerMs) return false;
  // The product overflows at 9 GB, and messages are far shorter.
  busy_until += kNsPerS / limits_.messages_per_s + static_cast<std::int64_t>(bytes) * kNsPerS / limits_.bytes_per_s;
  return true;
}

void TokenBuckets::count_violation(std::string_view sender, std::int64_t now_ms) {
  busy_until_ns(sender, now_ms * kNsPerMs) += kNsPerS / limits_.garbage_per_s;
}

std::int64_t& TokenBuckets::busy_until_ns(std::string_view sender, std::int64_t now_ns) {
  auto at = busy_until_ns_.find(sender);
  if (at == busy_until_ns_.end()) {
    if (busy_until_ns_.size() >= sweep_at_) {
      std::erase_if(busy_until_ns_, [&](const auto& one) { return one.second <= now_ns; });
      sweep_at_ = std::max(kSweepAtLeast, 2 * busy_until_ns_.size());
    }
    at = busy_until_ns_.emplace(sender, now_ns).first;
  }
  at->second = std::max(at->second, now_ns);
  return at->second;
}

}  // namespace kq::net
