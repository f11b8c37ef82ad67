// Reads the head of an HTTP/1.1 request, its request line and header fields, by RFC 9112. The function is pure: the
// bytes come from any peer.
//
// The reader is strict where two readers could understand a request differently: a line ends in CRLF, a field name has
// no space before its colon, and a request has one length at most. A request that breaks a rule is answered with a
// status and a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "net/http/message.h"

namespace kq::net {

inline constexpr std::size_t kHttpTargetBytesMax = 4'096;  // of path and query together
inline constexpr std::size_t kHttpFieldsMax = 100;

struct HttpHead {
  HttpRequest request;                          // without body and peer
  std::optional<std::uint64_t> content_length;  // nothing: there is no body, or it is chunked
  bool is_chunked = false;
  bool keeps_alive = true;        // whether the client wants to send another request on this connection
  bool expects_continue = false;  // whether the client waits for "100 Continue" before it sends the body
  bool is_version_1_0 = false;    // such a client understands no chunked answer

  bool has_body() const { return is_chunked || content_length.value_or(0) > 0; }
};

// Why a request cannot be served: the status of the answer and a sentence for people.
struct HttpFault {
  int status = 400;
  std::string sentence;
};

// Reads a head without the empty line at its end.
std::variant<HttpHead, HttpFault> parse_head(std::string_view text);

}  // namespace kq::net
