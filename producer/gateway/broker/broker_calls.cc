#include "producer/gateway/broker/broker_calls.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "net/endpoint.h"
#include "net/zmq/link.h"
#include "producer/client/client.h"
#include "sys/clock.h"
#include "sys/fd.h"

namespace kq::gateway {
namespace {

constexpr std::int64_t kRetrySendMs = 20;  // after a send that was not accepted, while the connection is being made
constexpr std::int64_t kIdleMs = 1'000;    // the longest wait of a line's thread
constexpr std::size_t kRepliesPerTurn = 64;
constexpr std::size_t kLines = 2;

Error stopped() {
  return {ErrorKind::interrupted, "this gateway is being stopped; send the request again"};
}

}  // namespace

struct BrokerCalls::Call {
  std::uint64_t request_id = 0;
  std::string bytes;
  std::int64_t resend_ms = 0;  // between two sends
  std::int64_t deadline_ms = 0;
  std::int64_t due_ms = 0;  // when the line's thread looks at the call again
  bool waits = false;
  std::atomic<bool> abandoned = false;

  std::mutex mutex;
  std::condition_variable done;
  std::optional<Expected<ClientReply>> reply;

  void finish(Expected<ClientReply> end) {
    const std::lock_guard lock(mutex);
    if (!reply) reply.emplace(std::move(end));
    done.notify_all();
  }
};

// One connection and its thread.
class BrokerCalls::Line {
 public:
  Line(std::string url, std::unique_ptr<net::ClientLink> link)
      : url_(std::move(url)), link_(std::move(link)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    link_->wake_on(wake_.get());
    thread_ = std::thread([this] { run(); });
  }
  ~Line() { stop(); }

  std::uint64_t next_request_id() { return ++last_request_id_; }

  void add(std::shared_ptr<Call> call) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || (call->waits && stopping_waits_)) return call->finish(failure(stopped()));
      if (open_count_ >= kOpenCallsMax)
        return call->finish(our_fault(std::to_string(kOpenCallsMax) + " requests to the broker are open, the limit"));
      ++open_count_;
      inbox_.push_back(std::move(call));
    }
    wake();
  }

  void stop_waits() {
    {
      const std::lock_guard lock(mutex_);
      stopping_waits_ = true;
    }
    wake();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Due = std::pair<std::int64_t, std::uint64_t>;  // the time, and the request number

  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

  void run() {
    while (take_inbox()) {
      send_again_after_connecting();
      send_due();
      receive();
    }
    for (auto& [id, call] : calls_) call->finish(failure(stopped()));
  }

  // Moves new calls to the open ones. Returns false once the line is being stopped.
  bool take_inbox() {
    std::uint64_t ignored = 0;
    (void)!::read(wake_.get(), &ignored, sizeof ignored);
    const std::lock_guard lock(mutex_);
    for (auto& call : std::exchange(inbox_, {})) {
      due_.insert({call->due_ms, call->request_id});
      calls_.emplace(call->request_id, std::move(call));
    }
    if (stopping_waits_ && !has_stopped_waits_) {
      has_stopped_waits_ = true;
      for (auto& [id, call] : calls_) {
        if (call->waits) call->finish(failure(stopped()));
      }
    }
    return !stopping_;
  }

  // Calls that were sent over an earlier connection may be lost.
  void send_again_after_connecting() {
    const std::uint64_t connection_count = link_->connection_count();
    if (connection_count == connection_count_) return;
    connection_count_ = connection_count;
    const std::int64_t now_ms = sys::monotonic_now_ms();
    for (auto& [id, call] : calls_) set_due(*call, now_ms);
  }

  // Sends the calls that are due, and ends those whose time is over.
  void send_due() {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    while (!due_.empty() && due_.begin()->first <= now_ms) {
      const auto place = calls_.find(due_.begin()->second);
      Call& call = *place->second;
      if (call.abandoned || now_ms >= call.deadline_ms) {
        call.finish(our_fault("broker " + url_ + " did not answer in time; is it running?"));
        remove(place);
        continue;
      }
      const bool sent = link_->send(call.bytes);
      set_due(call, now_ms + (sent ? call.resend_ms : kRetrySendMs));
      if (!sent) return;  // the link may have waited for its connection, so the other calls wait for the next turn
    }
  }

  void receive() {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    const std::int64_t wait_ms =
        due_.empty() ? kIdleMs : std::clamp<std::int64_t>(due_.begin()->first - now_ms, 0, kIdleMs);
    for (std::size_t i = 0; i < kRepliesPerTurn; ++i) {
      auto arrived = link_->receive(i == 0 ? wait_ms : 0);
      if (!arrived) return fail_all(arrived.error().message);
      if (!*arrived) {
        if (i > 0 || calls_.empty()) return;
        if (const auto why = link_->refusal()) fail_all("it refuses the connection: " + *why);
        return;
      }
      Expected<Message<ClientReply>> reply = decode_message<ClientReply>(**arrived);
      if (!reply) return fail_all("its reply cannot be understood: " + reply.error().message);
      const auto place = calls_.find(reply->request_id);
      if (place == calls_.end()) continue;  // the reply to a request that was sent twice, or was given up
      place->second->finish(std::move(reply->body));
      remove(place);
    }
  }

  void fail_all(const std::string& why) {
    while (!calls_.empty()) {
      calls_.begin()->second->finish(our_fault("broker " + url_ + ": " + why));
      remove(calls_.begin());
    }
  }

  void set_due(Call& call, std::int64_t due_ms) {
    due_.erase({call.due_ms, call.request_id});
    call.due_ms = std::min(due_ms, call.deadline_ms);
    due_.insert({call.due_ms, call.request_id});
  }

  void remove(std::map<std::uint64_t, std::shared_ptr<Call>>::iterator place) {
    due_.erase({place->second->due_ms, place->first});
    calls_.erase(place);
    const std::lock_guard lock(mutex_);
    --open_count_;
  }

  const std::string url_;
  const std::unique_ptr<net::ClientLink> link_;
  const sys::Fd wake_;
  std::uint64_t connection_count_ = 0;  // of the link, when calls were last sent
  std::atomic<std::uint64_t> last_request_id_ = 0;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Call>> inbox_;
  std::size_t open_count_ = 0;
  bool stopping_ = false;
  bool stopping_waits_ = false;

  // Used by the line's thread only.
  std::map<std::uint64_t, std::shared_ptr<Call>> calls_;
  std::set<Due> due_;
  bool has_stopped_waits_ = false;
  std::thread thread_;
};

Expected<std::unique_ptr<BrokerCalls>> BrokerCalls::connect(const std::string& url, const std::string& key_file) {
  KQ_TRY_VALUE(const auto brokers, net::parse_broker_urls(url));
  KQ_TRY_VALUE(const std::optional<net::ClientKey> key, net::read_key_for(net::Side::client, key_file));
  std::vector<std::unique_ptr<net::ClientLink>> links;
  for (std::size_t i = 0; i < kLines; ++i) {
    KQ_TRY_VALUE(auto link, net::connect_brokers(brokers, net::Side::client, key));
    links.push_back(std::move(link));
  }
  return std::make_unique<BrokerCalls>(url, std::move(links));
}

BrokerCalls::BrokerCalls(std::string url, std::vector<std::unique_ptr<net::ClientLink>> links) : url_(std::move(url)) {
  for (auto& link : links) lines_.push_back(std::make_unique<Line>(url_, std::move(link)));
}

BrokerCalls::~BrokerCalls() {
  stop();
}

Expected<ClientReply> BrokerCalls::ask(const ClientRequest& request, const CallOptions& options) {
  const auto* query = std::get_if<StatusQuery>(&request);
  const std::int64_t delay_ms = query != nullptr ? std::min(query->wait_ms, kQueryWaitMsMax) : 0;
  const auto call = std::make_shared<Call>();
  Line& line = delay_ms > 0 ? *lines_.back() : *lines_.front();
  call->waits = delay_ms > 0;
  call->due_ms = sys::monotonic_now_ms();
  call->deadline_ms = call->due_ms + delay_ms + options.timeout_ms;
  call->request_id = line.next_request_id();
  call->bytes = encode_message(Message<ClientRequest>{call->request_id, request});
  if (call->bytes.size() > kMessageBytesMax)
    return bad_input("a request of " + std::to_string(call->bytes.size()) + " bytes to the broker, at most " +
                     std::to_string(kMessageBytesMax) + " are allowed");
  call->resend_ms =
      delay_ms + producer::kResendMs * static_cast<std::int64_t>(1 + call->bytes.size() / producer::kResendBytes);
  line.add(call);

  std::unique_lock lock(call->mutex);
  while (!call->reply) {
    if (!options.abandoned) {
      call->done.wait(lock);
    } else if (call->done.wait_for(lock, std::chrono::milliseconds(kAbandonedCheckMs)) == std::cv_status::timeout &&
               options.abandoned()) {
      call->abandoned = true;
      return failure(Error{ErrorKind::interrupted, "the client has gone"});
    }
  }
  return std::move(*call->reply);
}

void BrokerCalls::stop_waits() {
  is_stopping_ = true;
  for (auto& line : lines_) line->stop_waits();
}

void BrokerCalls::stop() {
  is_stopping_ = true;
  for (auto& line : lines_) line->stop();
}

}  // namespace kq::gateway
