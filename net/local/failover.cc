// A link to several brokers of this machine, of which one serves. The others do not listen, so the link uses a
// connection that takes messages. A broker that is frozen keeps its connection; when it has not answered for a while,
// the link tries the others first.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "net/local/link.h"
#include "sys/clock.h"

namespace kq::net {
namespace {

constexpr std::int64_t kSilentMs = 1'500;  // a broker answers most requests at once
constexpr std::int64_t kSliceMs = 100;     // between two looks at the other brokers while receive() waits

class LocalFailoverLink final : public ClientLink {
 public:
  explicit LocalFailoverLink(std::vector<std::unique_ptr<ClientLink>> links)
      : links_(std::move(links)), counts_(links_.size()) {}

  bool send(std::string_view bytes) override {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    const bool is_silent = unanswered_since_ms_ && now_ms - *unanswered_since_ms_ > kSilentMs;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const std::size_t place = (current_ + i + (is_silent ? 1 : 0)) % links_.size();
      if (!links_[place]->send(bytes)) continue;
      if (place != current_) use(place);
      if (!unanswered_since_ms_) unanswered_since_ms_ = now_ms;
      return true;
    }
    return false;
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    const std::int64_t end_ms = sys::monotonic_now_ms() + timeout_ms;
    for (;;) {
      const std::int64_t begun_ms = sys::monotonic_now_ms();
      const std::int64_t slice_ms = std::clamp<std::int64_t>(end_ms - begun_ms, 0, kSliceMs);
      KQ_TRY_VALUE(auto message, links_[current_]->receive(slice_ms));
      if (message) {
        unanswered_since_ms_.reset();
        return message;
      }
      follow_new_connection();
      const std::int64_t now_ms = sys::monotonic_now_ms();
      // An early return means that the caller's descriptor is readable, or that the connection was refused.
      if (now_ms >= end_ms || now_ms - begun_ms < slice_ms) return std::nullopt;
    }
  }

  void wake_on(int fd) override {
    for (const auto& link : links_) link->wake_on(fd);
  }

  std::uint64_t connection_count() override {
    follow_new_connection();
    return connection_count_;
  }

  // The broker that serves decides; one that does not listen refuses nothing.
  std::optional<std::string> refusal() override { return links_[current_]->refusal(); }

 private:
  // Goes to a broker that has just accepted a connection: it serves, and the one before it did so earlier.
  void follow_new_connection() {
    for (std::size_t place = 0; place < links_.size(); ++place) {
      const std::uint64_t count = links_[place]->connection_count();
      if (std::exchange(counts_[place], count) == count) continue;
      ++connection_count_;
      use(place);
    }
  }

  void use(std::size_t place) {
    current_ = place;
    unanswered_since_ms_.reset();
  }

  std::vector<std::unique_ptr<ClientLink>> links_;
  std::vector<std::uint64_t> counts_;  // connections of each link that were seen
  std::size_t current_ = 0;
  std::uint64_t connection_count_ = 0;
  std::optional<std::int64_t> unanswered_since_ms_;
};

}  // namespace

Expected<std::unique_ptr<ClientLink>> connect_local_clients(const std::vector<std::string>& endpoints) {
  std::vector<std::unique_ptr<ClientLink>> links;
  for (const std::string& endpoint : endpoints) {
    KQ_TRY_VALUE(auto link, connect_local_client(endpoint));
    links.push_back(std::move(link));
  }
  return std::make_unique<LocalFailoverLink>(std::move(links));
}

}  // namespace kq::net
