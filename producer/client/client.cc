#include "producer/client/client.h"

#include <algorithm>
#include <utility>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "net/endpoint.h"
#include "net/local/address.h"
#include "net/zmq/link.h"
#include "producer/client/running_stack.h"
#include "sys/clock.h"

namespace kq::producer {
namespace {

constexpr std::int64_t kRetryMs = 20;            // the pause after a failed send, while the connection is being made
constexpr std::int64_t kInterruptCheckMs = 200;  // the interval between two checks for an interrupt

std::string seconds(std::int64_t ms) {
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

// Returns whether `reply` answers the request. A broker that cannot decode a request does not know its number, so it
// refuses the request with the number 0.
bool answers(const Message<ClientReply>& reply, std::uint64_t request_id) {
  return reply.request_id == request_id || (reply.request_id == 0 && std::holds_alternative<Refused>(reply.body));
}

}  // namespace

Expected<Client> Client::connect(const std::string& url, const std::string& key_file) {
  const DefaultBroker broker = url.empty() ? default_broker(process_environment) : DefaultBroker{.url = url};
  KQ_TRY_VALUE(const auto brokers, net::parse_broker_urls(broker.url));
  const Expected<std::optional<net::ClientKey>> key = net::read_key_for(net::Side::client, key_file);
  if (!key) return failure(key.error());
  Expected<std::unique_ptr<net::ClientLink>> link = net::connect_brokers(brokers, net::Side::client, *key);
  if (!link) return failure(link.error());
  Client client(broker.url, std::move(*link), sys::monotonic_now_ms);
  client.state_folder_ = broker.state_folder;
  return client;
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
  // The broker needs longer for a large message, and it may delay some replies. A request that is sent again too early
  // would only give the broker more work.
  const std::int64_t resend_ms = waits_ms + kResendMs * static_cast<std::int64_t>(1 + bytes.size() / kResendBytes);
  const std::int64_t deadline_ms = now_ms_() + timeout_ms;
  std::int64_t send_ms = now_ms_();
  std::uint64_t sent_over = link_->connection_count();
  std::int64_t report_ms = now_ms_() + waits_ms + kSilenceReportMs;
  for (;;) {
    if (interrupted_()) return failure(Error{ErrorKind::interrupted, "interrupted"});
    std::int64_t now_ms = now_ms_();
    if (now_ms >= deadline_ms) return failure(unanswered(timeout_ms));
    if (now_ms >= report_ms) {
      on_silence_("broker " + url_ + " does not answer; asking for " +
                  std::to_string((deadline_ms - now_ms + 999) / 1000) + " s more");
      report_ms = deadline_ms;
    }
    // A request that went out over an earlier connection may be lost.
    const std::uint64_t connection_count = link_->connection_count();
    if (now_ms >= send_ms || connection_count != sent_over) {
      const bool sent = link_->send(bytes);
      sent_over = link_->connection_count();
      now_ms = now_ms_();
      send_ms = now_ms + (sent ? resend_ms : kRetryMs);
    }
    const std::int64_t wait_ms = std::min({send_ms - now_ms, deadline_ms - now_ms, kInterruptCheckMs});
    const Expected<std::optional<std::string>> arrived = link_->receive(std::max<std::int64_t>(wait_ms, 0));
    if (!arrived) return failure(arrived.error());
    if (!*arrived) {
      if (const auto why = link_->refusal()) return bad_input("broker " + url_ + " refuses the connection: " + *why);
      continue;
    }
    Expected<Message<ClientReply>> reply = decode_message<ClientReply>(**arrived);
    if (!reply) {
      return our_fault("broker " + url_ + " sent a reply that this program does not understand (" +
                       reply.error().message + "); do both have the same version?");
    }
    if (answers(*reply, request_id)) return std::move(reply->body);
    // The reply is a late one to an earlier request, whose caller no longer waits.
  }
}

Expected<void> Client::pause(std::int64_t ms) {
  const std::int64_t until_ms = now_ms_() + ms;
  for (;;) {
    if (interrupted_()) return failure(Error{ErrorKind::interrupted, "interrupted"});
    const std::int64_t left_ms = until_ms - now_ms_();
    if (left_ms <= 0) return {};
    // No request is open, so any message that arrives is a late reply and can be dropped.
    KQ_TRY(link_->receive(std::min(left_ms, kInterruptCheckMs)));
  }
}

std::string Client::place() const {
  return state_folder_.empty() ? url_ : url_ + ", which kq up or kq sweep runs in " + state_folder_;
}

Error Client::unanswered(std::int64_t timeout_ms) const {
  const std::string broker = "broker " + place() + (state_folder_.empty() ? "" : ",");
  return Error{ErrorKind::our_fault, broker + " did not answer within " + seconds(timeout_ms) + advice()};
}

// Returns the end of the sentence about a silent broker: that its host name cannot be resolved, or else where its log
// is, or how to start one.
std::string Client::advice() const {
  if (!state_folder_.empty()) return "; see " + state_folder_ + "/broker.log";
  const bool is_one = url_.find(',') == std::string::npos;  // a broker with a standby has two URLs
  const auto address = is_one ? net::socket_address(url_) : Expected<net::SocketAddress>();
  if (!address && address.error().kind == ErrorKind::our_fault)
    return "; its host has no address here (" + address.error().message.substr(url_.size() + 2) + ")";
  return "; is it running? start one with: kq up";
}

Error Client::unexpected_reply(const ClientReply& reply) const {
  if (const Refused* refused = std::get_if<Refused>(&reply)) {
    return Error{ErrorKind::bad_input, "broker " + url_ + " refused the request: " + refused->reason};
  }
  const std::string_view name = std::visit([]<class T>(const T&) { return AlternativeName<T>::value; }, reply);
  return Error{ErrorKind::our_fault, "broker " + url_ + " answered with " + std::string(name) +
                                         ", which is no reply to the request; do both have the same version?"};
}

}  // namespace kq::producer
