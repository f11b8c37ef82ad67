// Asking the broker: one request, one reply, resent until it comes.
//
// The network may lose, repeat and delay everything, so a request is sent again with the same request_id until its
// reply is here, and replies to earlier requests are ignored. Every request is idempotent at the broker
// (core/messages.h), so a resend never does harm.
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

inline constexpr std::int64_t kAnswerTimeoutMs = 5'000;  // for a broker that is idle or not there
inline constexpr std::int64_t kResendMs =
    1'000;  // plus one more for each kResendBytes of the message, and the time that a StatusQuery lets its answer wait
inline constexpr std::size_t kResendBytes = 4u << 20;
inline constexpr std::int64_t kSilenceNewsMs = 2'000;  // then whoever waits wants to know for what

// One thread at a time; owned by a program's main.
class Client {
 public:
  // Starts to connect to the clients' side of a broker URL, with the key in `key_file` (net/keys.h; empty: without
  // one). Whether a broker is there shows with the first ask().
  static Expected<Client> connect(const std::string& url, const std::string& key_file = "");

  // The same over any link and clock.
  Client(std::string url, std::unique_ptr<net::ClientLink> link, std::function<std::int64_t()> now_ms);

  // ask() asks this between its short waits and ends with ExitCode::interrupted once it says true.
  void stop_when(std::function<bool()> interrupted);

  // Has a sentence given to `say` when a question has had no answer for kSilenceNewsMs, beyond the time that it lets
  // its answer wait, and is asked on: once for each question.
  void on_silence(std::function<void(const std::string&)> say);

  // The reply to this request. Errors: no answer within `timeout_ms`, a reply this program does not understand (both
  // our fault), a connection that is refused for want of the right key (bad input), or interrupted.
  Expected<ClientReply> ask(const ClientRequest& request, std::int64_t timeout_ms = kAnswerTimeoutMs);

  // The same where only one kind of reply makes sense; Refused and any other kind are errors.
  template <class Reply>
  Expected<Reply> ask_for(const ClientRequest& request, std::int64_t timeout_ms = kAnswerTimeoutMs) {
    Expected<ClientReply> reply = ask(request, timeout_ms);
    if (!reply) return failure(std::move(reply.error()));
    if (Reply* wanted = std::get_if<Reply>(&*reply)) return std::move(*wanted);
    return failure(unexpected_reply(*reply));
  }

  // Lets so much time pass. An Error: interrupted before.
  Expected<void> pause(std::int64_t ms);

  std::int64_t now_ms() const { return now_ms_(); }
  const std::string& url() const { return url_; }

 private:
  Error unexpected_reply(const ClientReply& reply) const;
  Error unanswered(std::int64_t timeout_ms) const;
  Expected<ClientReply> await(std::uint64_t request_id, const std::string& bytes, std::int64_t waits_ms,
                              std::int64_t timeout_ms);

  std::string url_;
  std::unique_ptr<net::ClientLink> link_;
  std::function<std::int64_t()> now_ms_;
  std::function<bool()> interrupted_;
  std::function<void(const std::string&)> on_silence_ = [](const std::string&) {};
  std::uint64_t last_request_id_ = 0;
};

}  // namespace kq::producer
