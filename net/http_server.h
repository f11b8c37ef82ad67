// A small HTTP door for people's tools, such as Prometheus: GET of a few paths, nothing else.
//
// It has threads of its own: what answers must be safe to call from another thread, and should be quick, as
// kHttpThreads requests are answered at once and the others wait. No peer is waited for longer than below, however many
// there are and whatever they send.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace kq::net {

inline constexpr std::size_t kHttpThreads = 8;
inline constexpr std::size_t kHttpWaitingMax =
    16;  // connections beyond these cut short whoever has not said his request
inline constexpr std::int64_t kHttpRequestMs = 500;     // for a peer to say its whole request, from when it is accepted
inline constexpr std::int64_t kHttpPatienceMs = 2'000;  // for it to take the whole answer

struct HttpAnswer {
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};
using HttpPages = std::map<std::string, std::function<HttpAnswer()>>;  // by path, such as "/metrics"

class HttpServer {
 public:
  // Listens from now on. `host` is a numeric address; port 0 takes a free one.
  static Expected<std::unique_ptr<HttpServer>> start(const std::string& host, std::uint16_t port, HttpPages pages);
  ~HttpServer();  // ends what is being answered, at most kHttpPatienceMs
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kq::net
