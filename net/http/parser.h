// Reads one HTTP/1.1 request by RFC 9112: its head, and its body where that is chunked. Boost.Beast parses; the bytes
// come from any peer, and the parser touches no socket.
//
// The parser is strict where two programs could understand a request differently: a line ends in CRLF, a header field
// stands on one line, and a request has one length at most. A request that breaks a rule is answered with a status and
// a sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "net/http/message.h"

namespace kq::net {

inline constexpr std::size_t kHttpTargetBytesMax = 4'096;  // of path and query together
inline constexpr std::size_t kHttpFieldsMax = 100;
inline constexpr std::size_t kChunkOverheadBytesMax = 4'096;  // of the extensions and trailers of one body

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

class HttpParser {
 public:
  enum class BodyState { partial, complete, malformed, too_long };

  HttpParser();
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // Reads a head without the empty line at its end. It is called once.
  std::variant<HttpHead, HttpFault> take_head(std::string_view text);

  // Moves the content of a chunked body from `bytes` to `body`, as far as it has arrived. It is called after a head
  // that is_chunked, again and again with more bytes behind those it has left, until the state is not `partial`.
  BodyState take_chunks(std::string& bytes, std::string& body, std::size_t body_bytes_max);

 private:
  struct Callbacks;
  std::unique_ptr<Callbacks> callbacks_;
};

}  // namespace kq::net
