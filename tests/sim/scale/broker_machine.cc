#include "tests/sim/scale/broker_machine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/sim/scale/cpu_time.h"

namespace kq::sim {
namespace {

// Packets that arrive within this time share a turn, as they do while a real broker waits for its disk.
constexpr std::int64_t kGatherMsMax = 10;

}  // namespace

BrokerMachine::BrokerMachine(Context& context, Network& network, CountingStore& store,
                             const broker::BrokerOptions& options)
    : context_(context), network_(network), store_(store), options_(options) {
  network_.attach_broker([this](net::Packet packet) {
    if (!process_) return;
    arrived_.push_back(std::move(packet));
    if (arrived_.size() == 1) wake_in(context_.random.between(0, kGatherMsMax));
  });
  start();
}

BrokerMachine::~BrokerMachine() {
  stop();
}

std::int64_t BrokerMachine::restart() {
  stop();
  return start();
}

std::int64_t BrokerMachine::start() {
  const std::int64_t begun_ns = cpu_ns();
  auto broker = broker::Broker::recover(store_, options_, context_.timeline.now_ms());
  const std::int64_t recovery_ns = cpu_ns() - begun_ns;
  if (!broker) {
    failure_ = broker.error().message;
    return recovery_ns;
  }
  broker_.emplace(std::move(*broker));
  process_.emplace([this] { serve(); });
  run_on();
  return recovery_ns;
}

void BrokerMachine::stop() {
  if (!process_) return;
  stop_ = 1;
  ++wake_number_;
  arrived_.clear();
  process_->resume();
  process_.reset();
  broker_.reset();
  is_turn_open_ = false;
  stop_ = 0;
}

void BrokerMachine::serve() {
  broker::Loop loop(*broker_, store_, static_cast<net::ServerLink&>(*this),
                    [this] { return context_.timeline.now_ms(); });
  const auto done = loop.run(stop_);
  if (!done) failure_ = done.error().message;
}

// Resumes the process until it waits or has failed.
void BrokerMachine::run_on() {
  const std::int64_t begun_ns = cpu_ns();
  const std::int64_t commits_begun_ns = store_.work().commit_cpu_ns;
  process_->resume();
  const std::int64_t turn_ns = cpu_ns() - begun_ns - (store_.work().commit_cpu_ns - commits_begun_ns);
  work_.cpu_ns += turn_ns;
  work_.longest_turn_ns = std::max(work_.longest_turn_ns, turn_ns);
  if (process_->is_done()) process_.reset();
}

void BrokerMachine::wake_in(std::int64_t ms) {
  context_.timeline.after(ms, [this, mine = ++wake_number_] {
    if (mine == wake_number_) run_on();
  });
}

std::int64_t BrokerMachine::take_longest_turn_ns() {
  return std::exchange(work_.longest_turn_ns, 0);
}

Expected<std::vector<net::Packet>> BrokerMachine::receive(std::int64_t timeout_ms, std::size_t packets_max) {
  // Even a loop that does not wait takes some time.
  if (!is_turn_open_ && arrived_.empty() && stop_ == 0) {
    wake_in(std::max<std::int64_t>(timeout_ms, 1));
    process_->wait();
  }
  // The real link returns packets of workers first, too.
  std::stable_partition(arrived_.begin(), arrived_.end(),
                        [](const net::Packet& packet) { return packet.peer.side == net::Side::worker; });
  const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(packets_max, arrived_.size()));
  std::vector<net::Packet> packets(std::make_move_iterator(arrived_.begin()), std::make_move_iterator(end));
  arrived_.erase(arrived_.begin(), end);
  work_.message_count += packets.size();
  is_turn_open_ = packets.size() >= packets_max;  // then the loop calls receive() again
  if (!is_turn_open_) ++work_.turn_count;
  return packets;
}

bool BrokerMachine::send(const net::Peer& peer, std::string bytes) {
  return network_.to_peer(peer, bytes);
}

}  // namespace kq::sim
