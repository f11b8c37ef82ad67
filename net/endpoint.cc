#include "net/endpoint.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>

#include "core/submission.h"

namespace kq::net {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kExamples = "a URL such as tcp://127.0.0.1:5570 or ipc:///tmp/kq.sock is needed";

Expected<Endpoints> parse_tcp(std::string_view url) {
  const auto refuse = [&](std::string_view sentence) {
    return bad_input("broker '" + std::string(url) + "': " + std::string(sentence));
  };
  const std::string_view address = url.substr(kTcp.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return refuse("no port; tcp://HOST:PORT is needed");
  const std::string_view host = address.substr(0, colon);
  const std::string_view digits = address.substr(colon + 1);
  if (host.empty()) return refuse("no host; tcp://HOST:PORT is needed");
  if (host.find_first_of("/; ") != std::string_view::npos) return refuse("the host must be a name or an address");
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 address stands in brackets, as in tcp://[::1]:5570");
  }
  std::uint32_t port = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  // The workers use the next port, so the clients cannot use the last port of all.
  if (wrong != std::errc{} || end != digits.data() + digits.size() || port < 1 || port > 65534) {
    return refuse("the port must be a number from 1 to 65534, got '" + std::string(digits) + "'");
  }
  Endpoints endpoints{std::string(url), std::string(kTcp) + std::string(host) + ":" + std::to_string(port + 1)};
  // The next port may have one digit more.
  if (const auto wrong_url = name_error(endpoints.worker)) return refuse("the URL for workers " + *wrong_url);
  return endpoints;
}

Expected<Endpoints> parse_ipc(std::string_view url) {
  const std::string_view path = url.substr(kIpc.size());
  if (path.empty() || path == "*") {
    return bad_input("broker '" + std::string(url) + "': no path; ipc://PATH is needed, such as ipc:///tmp/kq.sock");
  }
  if (path.size() > kIpcPathBytesMax) {
    return bad_input("broker '" + std::string(url) + "': the path is " + std::to_string(path.size()) +
                     " bytes long, a socket's path may have " + std::to_string(kIpcPathBytesMax));
  }
  return Endpoints{std::string(url), std::string(url) + ".workers"};
}

}  // namespace

Expected<Endpoints> parse_broker_url(std::string_view url) {
  // name_error() also refuses NUL bytes, which would cut the URL short in C functions.
  if (const auto wrong = name_error(url))
    return bad_input("the broker's URL " + *wrong + "; " + std::string(kExamples));
  if (url.starts_with(kTcp)) return parse_tcp(url);
  if (url.starts_with(kIpc)) return parse_ipc(url);
  return bad_input("broker '" + std::string(url) + "': " + std::string(kExamples));
}

Expected<std::vector<Endpoints>> parse_broker_urls(std::string_view urls) {
  std::vector<Endpoints> brokers;
  for (std::string_view rest = urls;;) {
    const std::size_t comma = rest.find(',');
    KQ_TRY_VALUE(auto broker, parse_broker_url(rest.substr(0, comma)));
    brokers.push_back(std::move(broker));
    if (brokers.size() > kBrokersMax)
      return bad_input("broker '" + std::string(urls) + "': at most " + std::to_string(kBrokersMax) +
                       " URLs may be given");
    if (comma == std::string_view::npos) return brokers;
    rest.remove_prefix(comma + 1);
  }
}

bool is_loopback(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return true;
  endpoint.remove_prefix(kTcp.size());
  const std::string host(endpoint.substr(0, endpoint.rfind(':')));
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return host == "[::1]" || host == "localhost";
}

}  // namespace kq::net
