#include "tests/sim/broker_host.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kq::sim {
namespace {

constexpr std::int64_t kGatherMsMax = 3;  // packets that arrive within this time share a turn
constexpr std::int64_t kBackMsMax = 5'000;

}  // namespace

BrokerHost::BrokerHost(Context& context, Network& network, Oracle& oracle, Saboteur& saboteur,
                       const broker::BrokerOptions& options)
    : context_(context),
      network_(network),
      oracle_(oracle),
      saboteur_(saboteur),
      options_(options),
      clock_(context.timeline, context.random),
      disk_(context, oracle, crash_plan_, saboteur) {
  network_.attach_broker([this](net::Packet packet) {
    if (!is_up()) return;
    arrived_.push_back(std::move(packet));
    if (arrived_.size() == 1) wake_in(context_.random.between(0, kGatherMsMax));
  });
  oracle_.watch(options_, clock_);
  start();
}

BrokerHost::~BrokerHost() {
  crash_plan_.crash();
  if (is_up()) process_->resume();
}

void BrokerHost::start() {
  crash_plan_.reset();
  disk_.start_again();
  arrived_.clear();
  is_turn_open_ = false;
  frozen_until_ms_ = 0;
  auto broker = broker::Broker::recover(disk_, saboteur_.on_start(options_), clock_.now_ms());
  if (!broker) return oracle_.violated("the broker cannot start again: " + broker.error().message);
  broker_.emplace(std::move(*broker));
  oracle_.restarted(*broker_, disk_.safe());
  process_.emplace([this] { serve(); });
  run_on();
}

// Runs the loop as kq-broker does. The loop ends with an Error, which is a violation unless the simulator injected it.
void BrokerHost::serve() {
  broker::Loop loop(*broker_, disk_, static_cast<net::ServerLink&>(*this), [this] { return clock_.now_ms(); });
  const std::sig_atomic_t never = 0;
  const auto done = loop.run(never);
  if (done.error().message.find(kInjected) == std::string::npos) {
    oracle_.violated("the broker ended with an error: " + done.error().message);
  }
}

void BrokerHost::crash() {
  if (!is_up()) return;
  crash_plan_.crash();
  run_on();
}

void BrokerHost::freeze(std::int64_t ms) {
  frozen_until_ms_ = context_.timeline.now_ms() + ms;
}

void BrokerHost::wake_in(std::int64_t ms) {
  context_.timeline.after(ms, [this, mine = ++wake_number_] {
    if (mine != wake_number_) return;
    if (const auto left_ms = frozen_until_ms_ - context_.timeline.now_ms(); left_ms > 0) return wake_in(left_ms);
    run_on();
  });
}

// Resumes the process until it waits. If it has ended, plans the start of the next one.
void BrokerHost::run_on() {
  process_->resume();
  if (!process_->is_done()) return;
  context_.trace([] { return "the broker has ended"; });
  process_.reset();
  broker_.reset();
  ++wake_number_;
  context_.timeline.after(context_.random.between(0, down_ms_max), [this] {
    if (context_.strikes(Fault::clock_back)) clock_.jump(-context_.random.between(1, kBackMsMax));
    context_.trace([] { return "the broker starts"; });
    start();
  });
}

Expected<std::vector<net::Packet>> BrokerHost::receive(std::int64_t timeout_ms, std::size_t packets_max) {
  if (!is_turn_open_ && turn_count_ > 0 && !crash_plan_.has_crashed()) oracle_.turned(*broker_);
  // Even a loop that does not wait takes some time.
  if (!is_turn_open_ && arrived_.empty() && !crash_plan_.has_crashed()) {
    wake_in(std::max<std::int64_t>(timeout_ms, 1));
    process_->wait();
  }
  if (crash_plan_.has_crashed()) return our_fault(std::string(kInjected) + ": crash between two turns");
  // The real link returns packets of workers first, too.
  std::stable_partition(arrived_.begin(), arrived_.end(),
                        [](const net::Packet& packet) { return packet.peer.side == net::Side::worker; });
  const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(packets_max, arrived_.size()));
  std::vector<net::Packet> packets(std::make_move_iterator(arrived_.begin()), std::make_move_iterator(end));
  arrived_.erase(arrived_.begin(), end);
  for (net::Packet& packet : packets) {
    oracle_.hearing(packet);
    saboteur_.on_arrival(packet);
  }
  is_turn_open_ = !packets.empty();  // the loop calls receive() until it returns no packet
  if (!is_turn_open_) ++turn_count_;
  return packets;
}

bool BrokerHost::send(const net::Peer& peer, std::string bytes) {
  if (!crash_plan_.survives_effect()) return true;
  for (const auto& [other, more] : saboteur_.on_send(peer, bytes)) {
    oracle_.sending(other, more, disk_.safe());
    network_.to_peer(other, more);
  }
  oracle_.sending(peer, bytes, disk_.safe());
  return network_.to_peer(peer, bytes);
}

}  // namespace kq::sim
