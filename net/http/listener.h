// An HTTP/1.1 server for a program with handlers that may block, such as a wait for a result.
//
// Theory of operation. Each connection has a thread with a small stack, so that thousands of requests may wait at the
// same time, and a handler is plain code that blocks. What a peer may use is bounded: the number of connections, the
// size of head and body, the time in which each must arrive, and the time in which a piece of the answer must be taken.
// When a connection arrives and connections_max are open, the server ends the one that has waited longest for its
// peer's next request or for the rest of it; so peers that send slowly make room for others. Where all connections are
// being served, the new one is answered 503 at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "net/http/message.h"
#include "net/http/parser.h"

namespace kq::net {

struct HttpLimits {
  std::size_t connections_max = 1'024;
  std::size_t head_bytes_max = 16u << 10;
  std::size_t bodies_bytes_max = 512u << 20;  // of all long bodies together, from their arrival to their answer
  std::int64_t head_ms = 5'000;               // for the head, from its first byte or the acceptance of the connection
  std::int64_t body_ms = 60'000;              // for the whole body
  std::int64_t idle_ms = 15'000;              // between two requests of one connection
  std::int64_t write_ms = 10'000;             // for each kHttpPieceBytes of an answer
  std::int64_t linger_ms = 2'000;             // in which a refused peer may read its answer while it still sends
};

inline constexpr std::size_t kHttpShortBodyBytes = 64u << 10;  // such a body does not count against bodies_bytes_max
inline constexpr std::size_t kHttpPieceBytes = 64u << 10;
inline constexpr std::size_t kHttpStackBytes = 1u << 20;  // of the thread of a connection; unused pages cost nothing

// Whether a request may send its body.
struct HttpAdmission {
  std::size_t body_bytes_max = 0;
  std::optional<HttpResponse> refusal = {};  // answered instead of the request, whose body is not read
};

// One answered request, for the access log.
struct HttpLogEntry {
  std::string peer;
  std::string id;
  std::string method;  // empty where the request line was malformed
  std::string path;
  int status = 0;  // 0: the peer has cut the connection before its request was complete
  std::uint64_t answer_bytes = 0;
  std::int64_t ms = 0;  // from the first byte of the request to the last byte of the answer
};

// The program behind the server. All functions are called by many threads at once.
struct HttpApp {
  // Decides by the head, and sets the id of the request.
  std::function<HttpAdmission(HttpRequest& request)> admit;
  std::function<HttpResponse(HttpRequest& request)> answer;
  // Makes the answer to a request that is malformed, too large or too slow. `request` is empty where the head is bad.
  std::function<HttpResponse(const HttpFault& fault, const HttpRequest& request)> reject;
  std::function<void(const HttpLogEntry& entry)> log = [](const HttpLogEntry&) {};
};

struct HttpCounts {
  std::size_t open = 0;  // connections at present
  std::uint64_t accepted = 0;
  std::uint64_t evicted = 0;      // ended to make room
  std::uint64_t turned_away = 0;  // answered 503 because all connections were being served
};

class HttpListener {
 public:
  // Starts to listen. `host` is a name or a numeric address; port 0 selects a free port. Returns bad_input if the
  // address cannot be listened on.
  static Expected<std::unique_ptr<HttpListener>> start(const std::string& host, std::uint16_t port, HttpApp app,
                                                       const HttpLimits& limits = {});
  ~HttpListener();  // calls stop(0)
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  std::uint16_t port() const;
  HttpCounts counts() const;

  // Accepts no more connections, and closes those that wait for a request. Requests that are being served have
  // `drain_ms` to finish; the connections that remain are cut. Returns when no thread of the server is left.
  void stop(std::int64_t drain_ms);

 private:
  struct Parts;
  explicit HttpListener(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kq::net
