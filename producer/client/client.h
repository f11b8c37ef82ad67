// The client of the broker, which sends one request at a time and waits for its reply.
//
// The network may lose, repeat and delay messages. The client therefore sends a request again, with the same
// request_id, until the reply arrives, and it ignores replies to earlier requests. Every request is idempotent at the
// broker (core/messages.h), so a repeated request has no further effect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "core/messages.h"
#include "net/link.h"

namespace kq::producer {

inline constexpr std::int64_t kAnswerTimeoutMs = 5'000;  // enough for the reply of an idle broker

// The interval between two sends of one request. It is longer by kResendMs for each kResendBytes of the message, and by
// the time for which a StatusQuery lets the broker delay the reply.
inline constexpr std::int64_t kResendMs = 1'000;
inline constexpr std::size_t kResendBytes = 4u << 20;

inline constexpr std::int64_t kSilenceReportMs = 2'000;  // the time after which a missing reply is reported

// A connection to a broker, over which one thread sends requests. The main function of a program owns it.
class Client {
 public:
  // Starts to connect to the client socket of a broker URL, with the key in `key_file` (net/keys.h; empty: without a
  // key). An empty URL stands for default_broker(). The call does not wait for the broker, so a broker that is not
  // running is noticed by the first ask().
  static Expected<Client> connect(const std::string& url, const std::string& key_file = "");

  // Uses any link and clock.
  Client(std::string url, std::unique_ptr<net::ClientLink> link, std::function<std::int64_t()> now_ms);

  // Sets a function that ask() and pause() call at short intervals. Once it returns true, they fail with
  // ErrorKind::interrupted.
  void stop_when(std::function<bool()> interrupted);

  // Sets a function that gets a sentence when a request has had no reply for kSilenceReportMs, not counting the time
  // for which the broker may delay the reply. It is called at most once for each request.
  void on_silence(std::function<void(const std::string&)> say);

  // Sends the request and returns its reply. Fails with ErrorKind::our_fault where no reply comes within `timeout_ms`
  // or this program cannot decode the reply, with bad_input where the broker refuses the connection because of the key,
  // and with interrupted.
  Expected<ClientReply> ask(const ClientRequest& request, std::int64_t timeout_ms = kAnswerTimeoutMs);

  // Does the same for a request with one kind of reply. Fails with bad_input for Refused, and with our_fault for every
  // other kind of reply.
  template <class Reply>
  Expected<Reply> ask_for(const ClientRequest& request, std::int64_t timeout_ms = kAnswerTimeoutMs) {
    Expected<ClientReply> reply = ask(request, timeout_ms);
    if (!reply) return failure(std::move(reply.error()));
    if (Reply* wanted = std::get_if<Reply>(&*reply)) return std::move(*wanted);
    return failure(unexpected_reply(*reply));
  }

  // Waits for `ms` milliseconds. Fails with ErrorKind::interrupted where it is interrupted before.
  Expected<void> pause(std::int64_t ms);

  std::int64_t now_ms() const { return now_ms_(); }
  const std::string& url() const { return url_; }
  // Returns the URL, and which state folder the broker was found in, for a sentence about the broker.
  std::string place() const;

 private:
  Error unexpected_reply(const ClientReply& reply) const;
  Error unanswered(std::int64_t timeout_ms) const;
  std::string advice() const;
  Expected<ClientReply> await(std::uint64_t request_id, const std::string& bytes, std::int64_t waits_ms,
                              std::int64_t timeout_ms);

  std::string url_;
  std::string state_folder_{};  // where default_broker() has found the broker
  std::unique_ptr<net::ClientLink> link_;
  std::function<std::int64_t()> now_ms_;
  std::function<bool()> interrupted_;
  std::function<void(const std::string&)> on_silence_ = [](const std::string&) {};
  std::uint64_t last_request_id_ = 0;
};

}  // namespace kq::producer
