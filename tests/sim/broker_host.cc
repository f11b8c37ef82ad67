#include "tests/sim/broker_host.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/codec.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kGatherMsMax = 3;  // packets that arrive within it share a turn

}  // namespace

BrokerHost::BrokerHost(Timeline& timeline, Random& random, Network& network, Oracle& oracle,
                       const BrokerOptions& options, Plant plant)
    : timeline_(timeline),
      random_(random),
      network_(network),
      oracle_(oracle),
      options_(options),
      plant_(plant),
      disk_(oracle, plant) {
  network_.attach_broker([this](Packet packet) {
    if (!is_up()) return;
    arrived_.push_back(std::move(packet));
    if (arrived_.size() == 1) wake_in(random_.between(0, kGatherMsMax));
  });
  start();
}

void BrokerHost::start() {
  disk_.lose_unsafe();
  arrived_.clear();
  const auto now_ms = [this] { return timeline_.now_ms() + ahead_ms_; };
  auto broker = Broker::recover(disk_, options_, now_ms());
  if (!broker) return oracle_.violated("the broker does not start again: " + broker.error().message);
  broker_.emplace(std::move(*broker));
  oracle_.restarted(*broker_, disk_.safe());
  loop_.emplace(*broker_, disk_, static_cast<ServerLink&>(*this), now_ms);
  wake_in(0);
}

void BrokerHost::crash() {
  if (!is_up()) return;
  loop_.reset();
  broker_.reset();
  ++wake_n_;
  timeline_.after(random_.between(0, down_ms_max), [this] { start(); });
}

void BrokerHost::wake_in(std::int64_t ms) {
  timeline_.after(ms, [this, mine = ++wake_n_] {
    if (mine == wake_n_) turn();
  });
}

void BrokerHost::turn() {
  if (const auto done = loop_->turn(); !done) {
    if (!done.error().message.starts_with(kCrash)) oracle_.violated("the broker gave up: " + done.error().message);
    return crash();
  }
  oracle_.turned(*broker_);
  // The loop would now wait for a packet for as long as it said when it asked last; a turn without packets asks again.
  wake_in(arrived_.empty() ? std::max<std::int64_t>(last_timeout_ms_, 1) : 0);
}

Expected<std::vector<Packet>> BrokerHost::receive(std::int64_t timeout_ms, std::size_t packets_max) {
  if (timeout_ms > 0) last_timeout_ms_ = timeout_ms;
  // Workers first, as the real link does.
  std::stable_partition(arrived_.begin(), arrived_.end(),
                        [](const Packet& packet) { return packet.peer.side == Side::worker; });
  const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(packets_max, arrived_.size()));
  std::vector<Packet> packets(std::make_move_iterator(arrived_.begin()), std::make_move_iterator(end));
  arrived_.erase(arrived_.begin(), end);
  if (plant_ == Plant::no_attempt_fencing) {
    for (Packet& packet : packets) {
      if (packet.peer.side == Side::worker) packet.bytes = without_fencing(std::move(packet.bytes));
    }
  }
  return packets;
}

bool BrokerHost::send(const Peer& peer, std::string_view bytes) {
  oracle_.sending(peer, bytes, disk_.safe());
  return network_.to_peer(peer, std::string(bytes));
}

// Planted: every result claims to be of the attempt that is current.
std::string BrokerHost::without_fencing(std::string bytes) const {
  auto message = decode_message<WorkerRequest>(bytes);
  auto* batch = message ? std::get_if<ResultBatch>(&message->body) : nullptr;
  if (batch == nullptr) return bytes;
  for (AttemptResult& result : batch->results) {
    if (const JobRecord* record = oracle_.job(result.lease.seq)) result.lease.attempt = record->attempt;
  }
  return encode_message(*message);
}

}  // namespace kq::sim
