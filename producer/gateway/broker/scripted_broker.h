// A broker for tests at the other end of a BrokerCalls, whose answers a function makes.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/codec/codec.h"
#include "producer/gateway/broker/broker_calls.h"

namespace kq::gateway {

class AnsweringBroker {
 public:
  // Returns the reply to a request, or nothing for a request that gets none.
  using Answer = std::function<std::optional<ClientReply>(const ClientRequest& request)>;

  explicit AnsweringBroker(Answer answer) : answer_(std::move(answer)) {}

  // Makes calls whose links lead here. The broker must outlive them.
  std::unique_ptr<BrokerCalls> calls() {
    std::vector<std::unique_ptr<net::ClientLink>> links;
    links.push_back(std::make_unique<Link>(*this));
    return std::make_unique<BrokerCalls>("ipc://test", std::move(links));
  }

  std::vector<ClientRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  template <class Request>
  Request last() const {
    return std::get<Request>(requests().back());
  }
  void refuse(std::string why) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(why);
  }

 private:
  class Link final : public net::ClientLink {
   public:
    explicit Link(AnsweringBroker& broker) : broker_(broker) {}
    bool send(std::string_view bytes) override {
      const auto message = decode_message<ClientRequest>(bytes).value();
      auto reply = broker_.take(message.body);
      if (reply) replies_.push_back(encode_message(Message<ClientReply>{message.request_id, std::move(*reply)}));
      return true;
    }
    Expected<std::optional<std::string>> receive(std::int64_t) override {
      if (!replies_.empty()) {
        std::string bytes = std::move(replies_.front());
        replies_.pop_front();
        return bytes;
      }
      // The link has no descriptor to wait on, so it looks again soon.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return std::nullopt;
    }
    std::optional<std::string> refusal() override {
      const std::lock_guard lock(broker_.mutex_);
      return broker_.refusal_;
    }

   private:
    AnsweringBroker& broker_;
    std::deque<std::string> replies_;
  };

  std::optional<ClientReply> take(const ClientRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    return answer_(request);
  }

  const Answer answer_;
  mutable std::mutex mutex_;
  std::vector<ClientRequest> requests_;
  std::optional<std::string> refusal_;
};

}  // namespace kq::gateway
