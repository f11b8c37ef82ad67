// Parses the URL of a broker and derives its two endpoints: one for clients and one for workers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace kq::net {

// tcp://HOST:PORT or ipc://PATH, as given by --broker or KQ_BROKER.
struct Endpoints {
  std::string client;  // the URL itself
  std::string worker;  // the same with PORT+1, or PATH + ".workers"

  friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

// Returns the endpoints, or a bad_input error in one sentence if the URL has no scheme or no port, an ipc path that is
// longer than kIpcPathBytesMax, or a URL for workers that is longer than kNameBytesMax.
Expected<Endpoints> parse_broker_url(std::string_view url);

// Parses one URL, or several with commas between them: a broker and the one that takes over for it. Programs that
// connect take such a list, and go to the broker that serves.
inline constexpr std::size_t kBrokersMax = 4;
Expected<std::vector<Endpoints>> parse_broker_urls(std::string_view urls);

// Returns whether only this machine can reach the endpoint: an ipc path, 127.0.0.0/8, [::1] or localhost. Returns false
// for interface names and wildcards.
bool is_loopback(std::string_view endpoint);

// The limit of an ipc path. sun_path holds 107 bytes and a NUL (ZeroMQ 4.3.4, unix(7)), and the longer of the two paths
// ends in ".workers".
inline constexpr std::size_t kIpcPathBytesMax = 99;

// The broker that programs use if none is given.
inline constexpr std::string_view kDefaultBrokerUrl = "tcp://127.0.0.1:5570";

}  // namespace kq::net
