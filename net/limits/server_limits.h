// How much a broker takes from whoever connects.
#pragma once

#include <cstddef>

#include "net/limits/token_bucket.h"

namespace kq::net {

struct ServerLimits {
  int handshake_ms = 5'000;                         // a connection that has not said who it is by then is hung up
  std::size_t connections_max = 4'096;              // of clients and workers together; needs as many descriptors
  std::size_t connections_per_address_max = 2'048;  // of one machine: the others find room whatever it does
  // Without keys: what has arrived of messages that are not whole yet. Over the time, or beyond the bytes of all
  // connections, the one that began first is hung up.
  int message_ms = 30'000;
  std::size_t begun_bytes_max = 256u << 20;
  RateLimits rates{};
};

// Messages to one peer that wait to be sent; beyond it senders are told to try again later. A client receives what it
// has asked for.
inline constexpr int kLinkMessagesMax = 256;
// And their bytes, of one peer and of all; nothing that waits alone is too long. With keys ZeroMQ counts messages only.
inline constexpr std::size_t kLinkBytesMax = 16u << 20;
inline constexpr std::size_t kLinkBytesTotalMax = 256u << 20;

}  // namespace kq::net
