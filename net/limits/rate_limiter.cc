#include "net/limits/rate_limiter.h"

namespace kq::net {
namespace {

// Returns the name whose limits the packet counts against: the name of its key, or the connection's id without keys.
std::string_view account_of(const Packet& packet) {
  return packet.who.name.empty() ? packet.peer.id : packet.who.name;
}

std::string text_of(const Packet& packet) {
  return std::string(to_string(packet.peer.side)) + " at " + packet.address +
         (packet.who.name.empty() ? "" : " (" + packet.who.name + ")");
}

}  // namespace

bool RateLimiter::allow(const Packet& packet, std::size_t bytes, std::int64_t now_ms) {
  if (buckets_.allow(account_of(packet), bytes, now_ms)) return true;
  log_.add("rate " + packet.address, now_ms, [&] {
    return text_of(packet) + " sends more than " + std::to_string(limits_.messages_per_s) + " messages or " +
           std::to_string(limits_.bytes_per_s) +
           " bytes a second, or malformed messages; messages over the limit are dropped";
  });
  return false;
}

void RateLimiter::count_violation(const Packet& packet, std::string_view why, std::int64_t now_ms) {
  buckets_.count_violation(account_of(packet), now_ms);
  log_.add("garbage " + packet.address, now_ms, [&] { return text_of(packet) + ": " + std::string(why); });
}

void RateLimiter::log(const std::string& subject, const Packet& packet, std::string_view what, std::int64_t now_ms) {
  log_.add(subject + " " + packet.address, now_ms, [&] { return text_of(packet) + std::string(what); });
}

void RateLimiter::log(const std::string& subject, const std::string& text, std::int64_t now_ms) {
  log_.add(subject, now_ms, [&] { return text; });
}

}  // namespace kq::net
