#include "tests/sim/broker_host.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kq::sim {
namespace {

constexpr std::int64_t kGatherMsMax = 3;  // packets that arrive within it share a turn
constexpr std::int64_t kBackMsMax = 5'000;

}  // namespace

BrokerHost::BrokerHost(Nature& nature, Network& network, Oracle& oracle, Saboteur& saboteur,
                       const broker::BrokerOptions& options)
    : nature_(nature),
      network_(network),
      oracle_(oracle),
      saboteur_(saboteur),
      options_(options),
      clock_(nature.timeline, nature.random),
      disk_(nature, oracle, life_, saboteur) {
  network_.attach_broker([this](net::Packet packet) {
    if (!is_up()) return;
    arrived_.push_back(std::move(packet));
    if (arrived_.size() == 1) wake_in(nature_.random.between(0, kGatherMsMax));
  });
  oracle_.watch(options_, clock_);
  start();
}

BrokerHost::~BrokerHost() {
  life_.cut();
  if (is_up()) process_->resume();
}

void BrokerHost::start() {
  life_.renew();
  disk_.start_again();
  arrived_.clear();
  is_turn_open_ = false;
  frozen_until_ms_ = 0;
  auto broker = broker::Broker::recover(disk_, saboteur_.on_start(options_), clock_.now_ms());
  if (!broker) return oracle_.violated("the broker does not start again: " + broker.error().message);
  broker_.emplace(std::move(*broker));
  oracle_.restarted(*broker_, disk_.safe());
  process_.emplace([this] { serve(); });
  run_on();
}

// What kq-broker does after its start. It ends with an Error: a planned one, or a finding.
void BrokerHost::serve() {
  broker::Loop loop(*broker_, disk_, static_cast<net::ServerLink&>(*this), [this] { return clock_.now_ms(); });
  const std::sig_atomic_t never = 0;
  const auto done = loop.run(never);
  if (done.error().message.find(kInjected) == std::string::npos) {
    oracle_.violated("the broker gave up: " + done.error().message);
  }
}

void BrokerHost::crash() {
  if (!is_up()) return;
  life_.cut();
  run_on();
}

void BrokerHost::freeze(std::int64_t ms) {
  frozen_until_ms_ = nature_.timeline.now_ms() + ms;
}

void BrokerHost::wake_in(std::int64_t ms) {
  nature_.timeline.after(ms, [this, mine = ++wake_n_] {
    if (mine != wake_n_) return;
    if (const auto left_ms = frozen_until_ms_ - nature_.timeline.now_ms(); left_ms > 0) return wake_in(left_ms);
    run_on();
  });
}

// Until the process waits; or it ends, and somebody starts it again.
void BrokerHost::run_on() {
  process_->resume();
  if (!process_->is_done()) return;
  nature_.trace([] { return "the broker is gone"; });
  process_.reset();
  broker_.reset();
  ++wake_n_;
  nature_.timeline.after(nature_.random.between(0, down_ms_max), [this] {
    if (nature_.strikes(Fault::clock_back)) clock_.jump(-nature_.random.between(1, kBackMsMax));
    nature_.trace([] { return "the broker starts"; });
    start();
  });
}

Expected<std::vector<net::Packet>> BrokerHost::receive(std::int64_t timeout_ms, std::size_t packets_max) {
  if (!is_turn_open_ && turns_n_ > 0 && !life_.is_cut()) oracle_.turned(*broker_);
  // A loop that does not want to wait takes some time all the same.
  if (!is_turn_open_ && arrived_.empty() && !life_.is_cut()) {
    wake_in(std::max<std::int64_t>(timeout_ms, 1));
    process_->wait();
  }
  if (life_.is_cut()) return our_fault(std::string(kInjected) + ": crash between two turns");
  // Workers first, as the real link does.
  std::stable_partition(arrived_.begin(), arrived_.end(),
                        [](const net::Packet& packet) { return packet.peer.side == net::Side::worker; });
  const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(packets_max, arrived_.size()));
  std::vector<net::Packet> packets(std::make_move_iterator(arrived_.begin()), std::make_move_iterator(end));
  arrived_.erase(arrived_.begin(), end);
  for (net::Packet& packet : packets) {
    oracle_.hearing(packet);
    saboteur_.on_arrival(packet);
  }
  is_turn_open_ = !packets.empty();  // the loop asks again until there is no more
  if (!is_turn_open_) ++turns_n_;
  return packets;
}

bool BrokerHost::send(const net::Peer& peer, std::string bytes) {
  if (!life_.holds()) return true;
  for (const auto& [other, more] : saboteur_.on_send(peer, bytes)) {
    oracle_.sending(other, more, disk_.safe());
    network_.to_peer(other, more);
  }
  oracle_.sending(peer, bytes, disk_.safe());
  return network_.to_peer(peer, bytes);
}

}  // namespace kq::sim
