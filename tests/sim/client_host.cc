#include "tests/sim/client_host.h"

#include <utility>

namespace kq::sim {
namespace {

constexpr std::int64_t kAwayMsMax = 2'000;

}  // namespace

class ClientHost::Link final : public net::ClientLink {
 public:
  explicit Link(ClientHost& host) : host_(host) {}

  bool send(std::string_view bytes) override { return host_.network_.to_broker(host_.peer(), bytes); }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    if (host_.arrived_.empty()) {
      host_.is_receiving_ = true;
      host_.wait(timeout_ms);
      host_.is_receiving_ = false;
    }
    if (host_.arrived_.empty()) return std::optional<std::string>();
    std::optional<std::string> bytes = std::move(host_.arrived_.front());
    host_.arrived_.pop_front();
    return bytes;
  }

 private:
  ClientHost& host_;
};

ClientHost::ClientHost(Context& context, Network& network, std::string machine,
                       std::function<void(producer::Client&)> program)
    : context_(context),
      network_(network),
      machine_(std::move(machine)),
      program_(std::move(program)),
      clock_(context.timeline, context.random) {}

ClientHost::~ClientHost() {
  is_killed_ = true;
  if (process_) process_->resume();
}

void ClientHost::start() {
  is_killed_ = false;
  ++connection_number_;
  network_.attach(peer(), [this](std::string bytes) {
    arrived_.push_back(std::move(bytes));
    if (!is_receiving_ || !process_) return;
    ++wake_number_;
    run_on();
  });
  process_.emplace([this] { serve(); });
  run_on();
}

void ClientHost::serve() {
  producer::Client client(machine_, std::make_unique<Link>(*this), [this] { return clock_.now_ms(); });
  client.stop_when([this] { return is_killed_; });
  program_(client);
}

void ClientHost::kill() {
  if (!process_ || is_killed_) return;
  context_.trace([&] { return machine_ + " was killed"; });
  is_killed_ = true;
  ++wake_number_;
  run_on();
}

// Resumes the program until it waits. If it has ended because of a kill, plans the start of the next process.
void ClientHost::run_on() {
  process_->resume();
  if (!process_->is_done()) return;
  process_.reset();
  network_.detach(peer());
  arrived_.clear();
  is_finished_ = !is_killed_;
  if (is_killed_) context_.timeline.after(context_.random.between(0, kAwayMsMax), [this] { start(); });
}

void ClientHost::wait(std::int64_t ms) {
  context_.timeline.after(ms, [this, mine = ++wake_number_] {
    if (mine == wake_number_) run_on();
  });
  process_->wait();
}

void ClientHost::sleep(std::int64_t ms) {
  if (!is_killed_) wait(ms);
}

}  // namespace kq::sim
