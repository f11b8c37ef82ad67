// A ClientLink for tests, whose broker is a function and whose clock advances only while the client waits.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/codec.h"
#include "core/messages.h"
#include "net/link.h"
#include "producer/client/client.h"

namespace kq::producer {

// The broker at the other end of the link, as a test sees it. It must outlive the Client.
struct ScriptedBroker {
  struct Delivery {
    std::int64_t at_ms;
    std::string bytes;
  };

  std::int64_t now_ms = 0;
  bool reachable = true;
  std::optional<std::string> refusal;
  std::vector<Message<ClientRequest>> requests;  // all received requests, including repeated ones
  std::vector<std::int64_t> sent_at_ms;
  std::deque<Delivery> deliveries;
  std::function<void(const Message<ClientRequest>&)> on_request = [](const Message<ClientRequest>&) {};

  void reply(std::uint64_t request_id, ClientReply body, std::int64_t after_ms = 1) {
    deliveries.push_back({now_ms + after_ms, encode_message(Message<ClientReply>{request_id, std::move(body)})});
  }

  Client client();
};

class ScriptedLink final : public net::ClientLink {
 public:
  explicit ScriptedLink(ScriptedBroker& broker) : broker_(broker) {}

  bool send(std::string_view bytes) override {
    if (!broker_.reachable) return false;
    const Message<ClientRequest> request = decode_message<ClientRequest>(bytes).value();
    broker_.requests.push_back(request);
    broker_.sent_at_ms.push_back(broker_.now_ms);
    broker_.on_request(request);
    return true;
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    const std::int64_t until_ms = broker_.now_ms + timeout_ms;
    const auto next = std::min_element(broker_.deliveries.begin(), broker_.deliveries.end(),
                                       [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
    if (next == broker_.deliveries.end() || next->at_ms > until_ms) {
      broker_.now_ms = until_ms;
      return std::nullopt;
    }
    broker_.now_ms = std::max(broker_.now_ms, next->at_ms);
    std::string bytes = std::move(next->bytes);
    broker_.deliveries.erase(next);
    return bytes;
  }

  std::optional<std::string> refusal() override { return broker_.refusal; }

 private:
  ScriptedBroker& broker_;
};

inline Client ScriptedBroker::client() {
  return Client("ipc:///tmp/kq.sock", std::make_unique<ScriptedLink>(*this), [this] { return now_ms; });
}

}  // namespace kq::producer
