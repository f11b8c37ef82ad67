// The limits that a broker sets for its connections.
#pragma once

#include <cstddef>

#include "net/limits/token_buckets.h"

namespace kq::net {

// Limits that bind_server() takes from its caller.
struct ServerLimits {
  int handshake_ms = 5'000;             // a connection without a complete handshake is closed after this time
  std::size_t connections_max = 4'096;  // of clients and workers together; each needs a file descriptor
  std::size_t connections_per_address_max = 2'048;  // of one machine, so that the other machines can still connect
  // Limits of incomplete messages, for connections without keys. A connection whose message is incomplete after
  // message_ms is closed. If the incomplete messages of all connections together hold more than incomplete_bytes_max,
  // the connection whose message began first is closed.
  int message_ms = 30'000;
  std::size_t incomplete_bytes_max = 256u << 20;
  RateLimits rates{};
};

// Maximum number of messages that wait to be sent to one peer; further sends are refused. A client receives only
// answers to its requests.
inline constexpr int kLinkMessagesMax = 256;
// Maximum bytes that wait to be sent to one peer and to all peers. A single message that waits alone may be longer.
// With keys, ZeroMQ limits the number of messages only.
inline constexpr std::size_t kLinkBytesMax = 16u << 20;
inline constexpr std::size_t kLinkBytesTotalMax = 256u << 20;

}  // namespace kq::net
