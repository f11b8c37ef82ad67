// One connection of an HttpListener, served by a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/listener.h"

namespace kq::net {

// The state of a connection that the listener sees while the connection's thread works.
struct HttpSlot {
  int socket = -1;
  std::string peer;
  std::atomic<std::int64_t> awaiting_since_ms = 0;  // since when the peer has owed a request; 0: it is being served
};

// What all connections of a listener share.
struct HttpShared {
  std::atomic<bool> stopping = false;         // ends each connection after its present request
  std::atomic<std::size_t> bodies_bytes = 0;  // of long bodies that are in memory
};

// Returns the bytes of an answer that ends its connection.
std::string complete_text(const HttpResponse& response);

class HttpConnection {
 public:
  HttpConnection(HttpSlot& slot, const HttpApp& app, const HttpLimits& limits, HttpShared& shared)
      : slot_(slot), app_(app), limits_(limits), shared_(shared) {}

  // Serves requests until the connection should be closed, which the caller does.
  void serve();

 private:
  enum class Arrival { arrived, closed, timed_out, too_long };

  // A share of bodies_bytes_max, which is given back when the request has been answered.
  class BodyRoom;

  bool serve_one(bool is_first);
  Arrival receive(std::int64_t deadline_ms);
  Arrival read_head(bool is_first, std::string& head);
  std::optional<HttpFault> read_body(HttpParser& parser, HttpHead& head, std::size_t body_bytes_max, BodyRoom& room);
  std::optional<HttpFault> read_sized_body(HttpHead& head, std::int64_t deadline_ms);
  std::optional<HttpFault> read_chunked_body(HttpParser& parser, std::string& body, std::size_t body_bytes_max,
                                             std::int64_t deadline_ms);
  void reject(const HttpFault& fault, const HttpRequest& request);
  void send_response(const HttpResponse& response, const HttpHead& head, bool closes);
  void send_stream(const HttpResponse& response, bool is_chunked);
  bool send(std::string_view bytes);
  void linger();
  bool is_abandoned() const;
  void log(const HttpRequest& request, int status);

  HttpSlot& slot_;
  const HttpApp& app_;
  const HttpLimits& limits_;
  HttpShared& shared_;
  std::string received_;          // bytes of the peer that belong to no finished request
  std::int64_t started_ms_ = 0;   // of the present request
  std::uint64_t sent_bytes_ = 0;  // of the present answer
  bool is_broken_ = false;        // whether the peer takes no more bytes
};

}  // namespace kq::net
