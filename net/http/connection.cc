#include "net/http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>
#include <variant>

#include "sys/clock.h"

namespace kq::net {
namespace {

constexpr std::size_t kReceiveBytes = 16u << 10;
constexpr std::size_t kJoinedBytesMax = 64u << 10;  // a body up to this size is sent together with its head
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kPeerHasGone = 0;  // the status of a fault after which no answer is sent

// Waits until one of `events` is possible on the socket. Returns false if the time passes first.
bool is_ready(int socket, short events, std::int64_t deadline_ms) {
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - sys::monotonic_now_ms(), 0);
    pollfd wanted{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(left_ms));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::string head_text(const HttpResponse& response, const HttpHead& head, bool closes, bool is_chunked) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text.append(reason_phrase(response.status)).append("\r\n");
  if (!response.type.empty()) text += "Content-Type: " + response.type + "\r\n";
  for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
  if (is_chunked) {
    text += "Transfer-Encoding: chunked\r\n";
  } else if (!response.stream && response.status != 204) {
    text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (closes) {
    text += "Connection: close\r\n";
  } else if (head.is_version_1_0) {
    text += "Connection: keep-alive\r\n";
  }
  return text + "\r\n";
}

std::string hex_text(std::size_t number) {
  std::string text;
  do text.insert(text.begin(), "0123456789abcdef"[number % 16]);
  while ((number /= 16) != 0);
  return text;
}

}  // namespace

std::string complete_text(const HttpResponse& response) {
  return head_text(response, {}, true, false) + response.body;
}

class HttpConnection::BodyRoom {
 public:
  explicit BodyRoom(HttpShared& shared) : shared_(shared) {}
  ~BodyRoom() { shared_.bodies_bytes -= bytes_; }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // Returns false where there is no room for a body of this size.
  bool take(std::size_t bytes, std::size_t bytes_max) {
    if (bytes <= kHttpShortBodyBytes) return true;
    bytes_ = bytes;
    return shared_.bodies_bytes.fetch_add(bytes) + bytes <= bytes_max;
  }

 private:
  HttpShared& shared_;
  std::size_t bytes_ = 0;
};

void HttpConnection::serve() {
  for (bool is_first = true; serve_one(is_first); is_first = false) {
  }
}

// Returns whether the connection stays open for another request.
bool HttpConnection::serve_one(bool is_first) {
  slot_.awaiting_since_ms = sys::monotonic_now_ms();
  std::string text;
  const Arrival arrival = read_head(is_first, text);
  sent_bytes_ = 0;
  if (arrival == Arrival::timed_out && started_ms_ != 0) {
    reject({408, "the head of the request did not arrive within " + std::to_string(limits_.head_ms) + " ms"}, {});
  } else if (arrival == Arrival::too_long) {
    reject({431, "the head of the request has more than " + std::to_string(limits_.head_bytes_max) + " bytes"}, {});
  }
  if (arrival != Arrival::arrived) return false;
  HttpParser parser;
  auto parsed = parser.take_head(text);
  if (const auto* fault = std::get_if<HttpFault>(&parsed)) {
    reject(*fault, {});
    return false;
  }
  auto& head = std::get<HttpHead>(parsed);
  HttpRequest& request = head.request;
  request.peer = slot_.peer;
  request.is_abandoned = [this] { return is_abandoned(); };
  const HttpAdmission admission = app_.admit(request);
  const std::uint64_t length = head.content_length.value_or(0);
  const bool is_refused = admission.refusal.has_value() || length > admission.body_bytes_max;
  const bool closes = !head.keeps_alive || shared_.stopping || (is_refused && head.has_body());
  BodyRoom room(shared_);
  if (admission.refusal) {
    send_response(*admission.refusal, head, closes);
    log(request, admission.refusal->status);
  } else if (auto fault = read_body(parser, head, admission.body_bytes_max, room)) {
    reject(*fault, request);
    return false;
  } else {
    slot_.awaiting_since_ms = 0;
    const HttpResponse response = app_.answer(request);
    send_response(response, head, closes || shared_.stopping);
    log(request, response.status);
  }
  if (closes && head.has_body()) linger();
  return !closes && !shared_.stopping && !is_broken_;
}

// Waits for more bytes and adds them to received_.
HttpConnection::Arrival HttpConnection::receive(std::int64_t deadline_ms) {
  if (!is_ready(slot_.socket, POLLIN, deadline_ms)) return Arrival::timed_out;
  std::array<char, kReceiveBytes> bytes;
  const ssize_t got = ::recv(slot_.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::arrived;
  if (got <= 0) return Arrival::closed;
  received_.append(bytes.data(), static_cast<std::size_t>(got));
  return Arrival::arrived;
}

HttpConnection::Arrival HttpConnection::read_head(bool is_first, std::string& head) {
  started_ms_ = received_.empty() ? 0 : sys::monotonic_now_ms();
  std::int64_t deadline_ms =
      sys::monotonic_now_ms() + (is_first || started_ms_ != 0 ? limits_.head_ms : limits_.idle_ms);
  for (std::size_t searched = 0;;) {
    while (received_.starts_with("\r\n")) received_.erase(0, 2);  // some clients end a body with an empty line
    std::size_t end = received_.find(kHeadEnd, searched);
    // The head of a client that ends its lines in LF alone is complete too; the parser refuses it with a reason.
    if (end == std::string::npos) end = received_.find("\n\n", searched);
    if (end != std::string::npos && end <= limits_.head_bytes_max) {
      head = received_.substr(0, end);
      received_.erase(0, end + kHeadEnd.size());
      return Arrival::arrived;
    }
    if (received_.size() > limits_.head_bytes_max) return Arrival::too_long;
    searched = received_.size() < kHeadEnd.size() ? 0 : received_.size() - kHeadEnd.size();
    const Arrival arrival = receive(deadline_ms);
    if (started_ms_ == 0 && !received_.empty()) {
      started_ms_ = sys::monotonic_now_ms();
      if (!is_first) deadline_ms = started_ms_ + limits_.head_ms;
    }
    if (arrival != Arrival::arrived) return arrival;
  }
}

// Returns a fault where the body is too long, malformed, late, or cut off.
std::optional<HttpFault> HttpConnection::read_body(HttpParser& parser, HttpHead& head, std::size_t body_bytes_max,
                                                   BodyRoom& room) {
  if (head.content_length.value_or(0) > body_bytes_max) {
    return HttpFault{413, "the body has " + std::to_string(*head.content_length) + " bytes, this path takes at most " +
                              std::to_string(body_bytes_max)};
  }
  if (!head.has_body()) return std::nullopt;
  const std::size_t bytes = head.is_chunked ? body_bytes_max : static_cast<std::size_t>(*head.content_length);
  if (!room.take(bytes, limits_.bodies_bytes_max))
    return HttpFault{503, "this server reads too many long bodies at present; send the request again soon"};
  if (head.expects_continue && received_.empty()) send("HTTP/1.1 100 Continue\r\n\r\n");
  sent_bytes_ = 0;
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limits_.body_ms;
  return head.is_chunked ? read_chunked_body(parser, head.request.body, body_bytes_max, deadline_ms)
                         : read_sized_body(head, deadline_ms);
}

std::optional<HttpFault> HttpConnection::read_sized_body(HttpHead& head, std::int64_t deadline_ms) {
  const auto size = static_cast<std::size_t>(*head.content_length);
  while (received_.size() < size) {
    const Arrival arrival = receive(deadline_ms);
    if (arrival == Arrival::closed) return HttpFault{kPeerHasGone, ""};
    if (arrival == Arrival::timed_out)
      return HttpFault{408, "the body did not arrive within " + std::to_string(limits_.body_ms) + " ms"};
  }
  if (received_.size() == size) {
    head.request.body = std::exchange(received_, {});
  } else {
    head.request.body = received_.substr(0, size);
    received_.erase(0, size);
  }
  return std::nullopt;
}

std::optional<HttpFault> HttpConnection::read_chunked_body(HttpParser& parser, std::string& body,
                                                           std::size_t body_bytes_max, std::int64_t deadline_ms) {
  using State = HttpParser::BodyState;
  for (;;) {
    const State state = parser.take_chunks(received_, body, body_bytes_max);
    if (state == State::complete) return std::nullopt;
    if (state == State::malformed) return HttpFault{400, "the chunked body of the request is malformed"};
    if (state == State::too_long) {
      return HttpFault{
          413, "the body has more than " + std::to_string(body_bytes_max) + " bytes, the most that this path takes"};
    }
    const Arrival arrival = receive(deadline_ms);
    if (arrival == Arrival::closed) return HttpFault{kPeerHasGone, ""};
    if (arrival == Arrival::timed_out)
      return HttpFault{408, "the body did not arrive within " + std::to_string(limits_.body_ms) + " ms"};
  }
}

// Answers a request that cannot be served, and ends the connection, whose bytes can no longer be told apart.
void HttpConnection::reject(const HttpFault& fault, const HttpRequest& request) {
  if (fault.status != kPeerHasGone) send_response(app_.reject(fault, request), {}, true);
  log(request, fault.status);
  if (fault.status != kPeerHasGone) linger();
}

void HttpConnection::send_response(const HttpResponse& response, const HttpHead& head, bool closes) {
  const bool is_chunked = response.stream && !head.is_version_1_0;
  std::string text = head_text(response, head, closes || (response.stream && !is_chunked), is_chunked);
  const bool is_without_body = head.request.method == "HEAD" || response.status == 204;
  if (is_without_body) {
    send(text);
  } else if (response.stream) {
    if (send(text)) send_stream(response, is_chunked);
    if (!is_chunked) is_broken_ = true;  // only the end of the connection ends such a body
  } else if (response.body.size() <= kJoinedBytesMax) {
    send(text.append(response.body));
  } else if (send(text)) {
    send(response.body);
  }
}

void HttpConnection::send_stream(const HttpResponse& response, bool is_chunked) {
  const bool is_complete = response.stream([&](std::string_view bytes) {
    if (bytes.empty()) return !is_broken_;
    if (!is_chunked) return send(bytes);
    std::string chunk = hex_text(bytes.size()) + "\r\n";
    return send(chunk.append(bytes).append("\r\n"));
  });
  if (!is_complete) is_broken_ = true;
  if (is_chunked) send("0\r\n\r\n");
}

// Returns false once the peer takes no more bytes.
bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty() && !is_broken_) {
    const std::string_view piece = bytes.substr(0, kHttpPieceBytes);
    const std::int64_t deadline_ms = sys::monotonic_now_ms() + limits_.write_ms;
    for (std::size_t at = 0; at < piece.size() && !is_broken_;) {
      const ssize_t sent = ::send(slot_.socket, piece.data() + at, piece.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        at += static_cast<std::size_t>(sent);
        sent_bytes_ += static_cast<std::size_t>(sent);
      } else if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        is_broken_ = !is_ready(slot_.socket, POLLOUT, deadline_ms);
      } else {
        is_broken_ = true;
      }
    }
    bytes.remove_prefix(piece.size());
  }
  return !is_broken_;
}

// Lets a peer that still sends a refused body read its answer: closing a socket with unread bytes would discard it.
void HttpConnection::linger() {
  ::shutdown(slot_.socket, SHUT_WR);
  slot_.awaiting_since_ms = sys::monotonic_now_ms();
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limits_.linger_ms;
  do received_.clear();
  while (receive(deadline_ms) == Arrival::arrived && sys::monotonic_now_ms() < deadline_ms);
}

bool HttpConnection::is_abandoned() const {
  pollfd wanted{.fd = slot_.socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void HttpConnection::log(const HttpRequest& request, int status) {
  app_.log({.peer = slot_.peer,
            .id = request.id,
            .method = request.method,
            .path = request.path,
            .status = status,
            .answer_bytes = sent_bytes_,
            .ms = started_ms_ == 0 ? 0 : sys::monotonic_now_ms() - started_ms_});
}

}  // namespace kq::net
