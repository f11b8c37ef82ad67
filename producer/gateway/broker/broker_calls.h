// Requests to the broker from many threads over few connections.
//
// Theory of operation. A thread per connection owns its link. A caller hands its request to that thread and blocks
// until the reply has arrived. Requests of all callers are open at the same time, told apart by their request numbers,
// so five hundred waits for results cost one connection. As in producer/client/client.h a request is sent again until
// its reply is there; every request is idempotent at the broker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "net/link.h"

namespace kq::gateway {

inline constexpr std::int64_t kCallTimeoutMs = 10'000;  // longer than a restart of a broker with a small store
inline constexpr std::int64_t kAbandonedCheckMs = 250;  // between two checks whether a caller's client has gone
inline constexpr std::size_t kOpenCallsMax = 16'384;    // of one connection

struct CallOptions {
  std::int64_t timeout_ms = kCallTimeoutMs;   // without the time for which a StatusQuery may be delayed
  std::function<bool()> abandoned = nullptr;  // once it returns true, the call fails with interrupted
};

class BrokerCalls {
 public:
  // Connects to a broker with the key in `key_file` (empty: no key). A broker that is not running is noticed by the
  // first call.
  static Expected<std::unique_ptr<BrokerCalls>> connect(const std::string& url, const std::string& key_file);
  // Uses any links, at least one.
  BrokerCalls(std::string url, std::vector<std::unique_ptr<net::ClientLink>> links);
  ~BrokerCalls();  // calls stop()
  BrokerCalls(const BrokerCalls&) = delete;
  BrokerCalls& operator=(const BrokerCalls&) = delete;

  // Returns the reply. Fails with our_fault where none comes in time or the broker refuses the connection, and with
  // interrupted after stop_waits() or stop().
  Expected<ClientReply> ask(const ClientRequest& request, const CallOptions& options = {});

  // Does the same for a request with one kind of reply. Refused is bad_input, because the broker names a mistake in the
  // request.
  template <class Reply>
  Expected<Reply> ask_for(const ClientRequest& request, const CallOptions& options = {}) {
    KQ_TRY_VALUE(ClientReply reply, ask(request, options));
    if (Reply* wanted = std::get_if<Reply>(&reply)) return std::move(*wanted);
    if (const auto* refused = std::get_if<Refused>(&reply)) return bad_input(refused->reason);
    return our_fault("broker " + url_ + " answered with another kind of reply; do both have the same version?");
  }

  // Ends the open queries that wait for a job to finish, and lets later ones fail; other calls go on.
  void stop_waits();
  bool is_stopping() const { return is_stopping_; }  // whether stop_waits() or stop() was called
  void stop();

 private:
  class Line;
  struct Call;

  const std::string url_;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::unique_ptr<Line>> lines_;  // the last one is for queries that wait
};

}  // namespace kq::gateway
