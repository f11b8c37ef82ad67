#include "producer/client/client.h"

#include <algorithm>
#include <utility>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "net/endpoint.h"
#include "net/zmq/link.h"
#include "sys/clock.h"

namespace kq::producer {
namespace {

constexpr std::int64_t kRetryMs = 20;       // after a send that was not accepted: the connection is still being made
constexpr std::int64_t kAttentionMs = 200;  // the longest wait before ^C is looked for again

std::string seconds(std::int64_t ms) {
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

// Whether `reply` answers the request. A broker that cannot read a request cannot repeat its number either, so it
// refuses with 0.
bool answers(const Message<ClientReply>& reply, std::uint64_t request_id) {
  return reply.request_id == request_id || (reply.request_id == 0 && std::holds_alternative<Refused>(reply.body));
}

}  // namespace

Expected<Client> Client::connect(const std::string& url, const std::string& key_file) {
  const Expected<net::Endpoints> endpoints = net::parse_broker_url(url);
  if (!endpoints) return failure(endpoints.error());
  const Expected<std::optional<net::ClientKey>> key = net::read_key_for(net::Side::client, key_file);
  if (!key) return failure(key.error());
  Expected<std::unique_ptr<net::ClientLink>> link = net::connect_client(endpoints->client, *key);
  if (!link) return failure(link.error());
  return Client(url, std::move(*link), sys::monotonic_now_ms);
}

Client::Client(std::string url, std::unique_ptr<net::ClientLink> link, std::function<std::int64_t()> now_ms)
    : url_(std::move(url)), link_(std::move(link)), now_ms_(std::move(now_ms)), interrupted_([] { return false; }) {}

void Client::stop_when(std::function<bool()> interrupted) {
  interrupted_ = std::move(interrupted);
}

void Client::on_silence(std::function<void(const std::string&)> say) {
  on_silence_ = std::move(say);
}

Expected<ClientReply> Client::ask(const ClientRequest& request, std::int64_t timeout_ms) {
  const std::uint64_t request_id = ++last_request_id_;
  const std::string bytes = encode_message(Message<ClientRequest>{request_id, request});
  if (bytes.size() > kMessageBytesMax) {
    return bad_input("a request of " + std::to_string(bytes.size()) + " bytes, a message may have " +
                     std::to_string(kMessageBytesMax));
  }
  const auto* question = std::get_if<StatusQuery>(&request);
  const std::int64_t waits_ms = question != nullptr ? std::min(question->wait_ms, kQueryWaitMsMax) : 0;
  return await(request_id, bytes, waits_ms, timeout_ms);
}

Expected<ClientReply> Client::await(std::uint64_t request_id, const std::string& bytes, std::int64_t waits_ms,
                                    std::int64_t timeout_ms) {
  // A large message takes the broker longer, as does an answer that may wait; sending it again too early would only add
  // to its work.
  const std::int64_t resend_ms = waits_ms + kResendMs * static_cast<std::int64_t>(1 + bytes.size() / kResendBytes);
  const std::int64_t deadline_ms = now_ms_() + timeout_ms;
  std::int64_t send_ms = now_ms_();
  std::int64_t news_ms = now_ms_() + waits_ms + kSilenceNewsMs;
  for (;;) {
    if (interrupted_()) return failure(Error{ErrorKind::interrupted, "interrupted"});
    std::int64_t now_ms = now_ms_();
    if (now_ms >= deadline_ms) return failure(unanswered(timeout_ms));
    if (now_ms >= news_ms) {
      on_silence_("broker " + url_ + " does not answer; asking for " +
                  std::to_string((deadline_ms - now_ms + 999) / 1000) + " s more");
      news_ms = deadline_ms;
    }
    if (now_ms >= send_ms) {
      const bool sent = link_->send(bytes);
      now_ms = now_ms_();
      send_ms = now_ms + (sent ? resend_ms : kRetryMs);
    }
    const std::int64_t wait_ms = std::min({send_ms - now_ms, deadline_ms - now_ms, kAttentionMs});
    const Expected<std::optional<std::string>> arrived = link_->receive(std::max<std::int64_t>(wait_ms, 0));
    if (!arrived) return failure(arrived.error());
    if (!*arrived) {
      if (const auto why = link_->refusal()) return bad_input("broker " + url_ + " refuses the connection: " + *why);
      continue;
    }
    Expected<Message<ClientReply>> reply = decode_message<ClientReply>(**arrived);
    if (!reply) {
      return our_fault("broker " + url_ + " answered what this program does not understand (" + reply.error().message +
                       "); are both of one version?");
    }
    if (answers(*reply, request_id)) return std::move(reply->body);
    // A late answer to an earlier request: whoever asked has given up on it.
  }
}

Expected<void> Client::pause(std::int64_t ms) {
  const std::int64_t until_ms = now_ms_() + ms;
  for (;;) {
    if (interrupted_()) return failure(Error{ErrorKind::interrupted, "interrupted"});
    const std::int64_t left_ms = until_ms - now_ms_();
    if (left_ms <= 0) return {};
    // Nothing is asked, so what arrives is late: it may be dropped here as well as at the next question.
    KQ_TRY(link_->receive(std::min(left_ms, kAttentionMs)));
  }
}

Error Client::unanswered(std::int64_t timeout_ms) const {
  return Error{ErrorKind::our_fault, "broker " + url_ + " did not answer within " + seconds(timeout_ms) +
                                         "; is it running? start one with: kq up"};
}

Error Client::unexpected_reply(const ClientReply& reply) const {
  if (const Refused* refused = std::get_if<Refused>(&reply)) {
    return Error{ErrorKind::our_fault, "broker " + url_ + " refused the request: " + refused->reason};
  }
  const std::string_view name = std::visit([]<class T>(const T&) { return AlternativeName<T>::value; }, reply);
  return Error{ErrorKind::our_fault, "broker " + url_ + " answered with " + std::string(name) +
                                         ", which does not fit the question; are both of one version?"};
}

}  // namespace kq::producer
