// A small HTTP server for tools such as Prometheus. It answers GET requests for a fixed set of paths.
//
// The server has threads of its own. The functions that make the answers must be safe to call from these threads and
// should be quick: kHttpThreads requests are answered at a time and other connections wait. The time limits below hold
// for every peer, however many peers there are and whatever they send.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace kq::net {

inline constexpr std::size_t kHttpThreads = 8;
// How many connections may wait for a thread. When one more arrives, the server ends the served connections whose
// request is not complete.
inline constexpr std::size_t kHttpWaitingMax = 16;
// The time in which a peer must send its whole request, from the moment at which its connection is accepted.
inline constexpr std::int64_t kHttpRequestMs = 500;
// The time in which a peer must receive the whole answer, from the first write.
inline constexpr std::int64_t kHttpAnswerMs = 2'000;

// The answer to a request: a media type and a body.
struct HttpAnswer {
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};
using HttpPages = std::map<std::string, std::function<HttpAnswer()>>;  // by path, such as "/metrics"

// An HTTP server that runs from start() until it is destroyed.
class HttpServer {
 public:
  // Starts to listen. `host` is a numeric address; port 0 selects a free port. Returns bad_input if the address cannot
  // be listened on.
  static Expected<std::unique_ptr<HttpServer>> start(const std::string& host, std::uint16_t port, HttpPages pages);
  ~HttpServer();  // Stops the server. Answers that are being sent have at most kHttpAnswerMs to finish.
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kq::net
