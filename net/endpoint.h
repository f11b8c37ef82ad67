// Broker URLs: what a person writes, and the two endpoints it means.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::net {

// tcp://HOST:PORT or ipc://PATH, as given by --broker or KQ_BROKER.
struct Endpoints {
  std::string client;  // the URL itself
  std::string worker;  // the same with PORT+1, or PATH + ".workers"

  friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

// Bad input in one sentence: no scheme, no port, an ipc path that does not fit into kIpcPathBytesMax.
Expected<Endpoints> parse_broker_url(std::string_view url);

// Whether only this machine can reach it: a path, 127.0.0.0/8, [::1] or localhost. Interface names and wildcards are
// not known to be local.
bool is_loopback(std::string_view endpoint);

// sun_path holds 107 bytes and a NUL (ZeroMQ 4.3.4, unix(7)); ".workers" is part of the longer of the two.
inline constexpr std::size_t kIpcPathBytesMax = 99;

// Where programs look for the broker when nothing is given.
inline constexpr std::string_view kDefaultBrokerUrl = "tcp://127.0.0.1:5570";

}  // namespace kq::net
