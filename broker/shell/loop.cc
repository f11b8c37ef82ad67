#include "broker/shell/loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "core/codec/codec.h"

namespace kq::broker {
namespace {

// A turn takes at most this many messages, because the first sender waits until the last message is handled.
constexpr std::size_t kTurnPacketsMax = 2'048;
constexpr std::size_t kPacketsAtOnce = 32;
// A turn that takes longer leaves the rest of its messages to the next turn, so that answers are sent and messages of
// workers are read in between. One message may take 50 ms.
constexpr std::int64_t kTurnMsMax = 100;
constexpr std::int64_t kStalledMsMin = 1'000;  // the broker is not told of a shorter stall
// The longest wait, and so the longest time until the loop notices a signal that arrived just before the wait.
constexpr std::int64_t kIdleMs = 200;
constexpr std::int64_t kStandbyWaitMs = 20;    // between two checks whether a required standby is still there
constexpr std::int64_t kSpaceCheckMs = 1'000;  // between two checks of the disk space

void log(Note note) {
  // Notes quote texts of workers, so control characters are replaced: one note is one line.
  std::replace_if(
      note.text.begin(), note.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  switch (note.level) {
    case NoteLevel::debug:
      spdlog::debug(note.text);
      return;
    case NoteLevel::info:
      spdlog::info(note.text);
      return;
    case NoteLevel::warning:
      spdlog::warn(note.text);
      return;
  }
}

// Returns the event in a packet, or nothing if the packet cannot be decoded. A client then gets Refused; a worker gets
// no answer, and sends its message again or loses its leases. The link accepts fewer messages from such a sender.
std::optional<Event> event_in(net::Packet packet, net::ServerLink& link, Ready& turn) {
  std::string& peer = packet.peer.id;
  if (packet.peer.side == net::Side::client) {
    auto message = decode_message<ClientRequest>(packet.bytes);
    if (message) return FromClient{std::move(peer), std::move(*message), std::move(packet.who)};
    link.count_violation(packet, message.error().message);
    turn.send_to_client(peer, 0, Refused{message.error().message});
    return std::nullopt;
  }
  auto message = decode_message<WorkerRequest>(packet.bytes);
  if (message) return FromWorker{std::move(peer), std::move(*message), std::move(packet.who)};
  link.count_violation(packet, message.error().message);
  return std::nullopt;
}

// The leases or builds in a reply to a worker, or null. A new kind of reply does not compile without a line here.
struct LeasesIn {
  const std::vector<Lease>* operator()(const LeaseBatch& batch) const { return &batch.leases; }
  const std::vector<Lease>* operator()(const BuildBatch& batch) const { return &batch.builds; }
  const std::vector<Lease>* operator()(const Welcome&) const { return nullptr; }
  const std::vector<Lease>* operator()(const ResultAck&) const { return nullptr; }
  const std::vector<Lease>* operator()(const Unknown&) const { return nullptr; }
  const std::vector<Lease>* operator()(const Revoke&) const { return nullptr; }
  const std::vector<Lease>* operator()(const Refused&) const { return nullptr; }
};

}  // namespace

Loop::Loop(Broker& broker, store::Store& store, net::ServerLink& link, std::function<std::int64_t()> now_ms)
    : broker_(broker), store_(store), link_(link), now_ms_(std::move(now_ms)) {}

void Loop::observe(std::function<void(std::int64_t)> observer) {
  observer_ = std::move(observer);
}

Expected<void> Loop::run(const volatile std::sig_atomic_t& stop) {
  stop_ = &stop;
  while (stop == 0) {
    KQ_TRY(turn());
  }
  return {};
}

Expected<void> Loop::turn() {
  const std::int64_t asked_at_ms = now_ms_();
  const bool waits = undelivered_.empty() && deferred_.empty();
  const std::int64_t wait_ms = waits ? std::clamp<std::int64_t>(wake_at_ms_ - asked_at_ms, 0, kIdleMs) : 0;
  KQ_TRY_VALUE(auto packets, receive(wait_ms));
  KQ_TRY(take_replication(packets));
  const std::int64_t stalled_ms = this->stalled_ms(asked_at_ms, wait_ms);
  for (std::string& text : link_.take_log_lines()) log({NoteLevel::warning, std::move(text)});
  Ready turn;
  KQ_TRY(step(Tick{.stalled_ms = stalled_ms}, turn));
  KQ_TRY(check_space(turn));
  for (Undelivered& event : std::exchange(undelivered_, {})) {
    KQ_TRY(step(std::move(event), turn));
  }
  std::size_t bytes = 0;
  for (auto packet = packets.begin(); packet != packets.end(); ++packet) {
    if (now_ms_() > received_at_ms_ + kTurnMsMax || bytes >= kTurnBytesMax) {
      deferred_.assign(std::make_move_iterator(packet), std::make_move_iterator(packets.end()));
      break;
    }
    bytes += packet->bytes.size();
    auto event = event_in(std::move(*packet), link_, turn);
    if (!event) continue;
    KQ_TRY(step(std::move(*event), turn));
  }
  KQ_TRY(step(Dispatch{}, turn));
  wake_at_ms_ = turn.wake_at_ms().value_or(now_ms_() + kIdleMs);
  KQ_TRY(finish(std::move(turn)));
  answer_backup();
  if (observer_ && now_ms_() >= observe_at_ms_) {
    observe_at_ms_ = now_ms_() + kObserveMs;
    observer_(now_ms_());
  }
  return {};
}

// Returns the messages that the last turn deferred and then new ones. If there are deferred messages, messages of
// workers come before those of clients.
Expected<std::vector<net::Packet>> Loop::receive(std::int64_t wait_ms) {
  std::vector<net::Packet> packets = std::exchange(deferred_, {});
  const bool has_deferred = !packets.empty();
  std::size_t bytes = 0;
  for (std::size_t counted = 0;;) {
    for (; counted < packets.size(); ++counted) bytes += packets[counted].bytes.size();
    if (counted >= kTurnPacketsMax || bytes >= kTurnBytesMax) break;
    auto more = link_.receive(std::exchange(wait_ms, 0), kPacketsAtOnce);
    if (!more) return more;
    const bool may_be_more = more->size() >= kPacketsAtOnce;
    packets.insert(packets.end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
    if (!may_be_more) break;
  }
  if (has_deferred)
    std::ranges::stable_partition(packets,
                                  [](const net::Packet& packet) { return packet.peer.side == net::Side::worker; });
  return packets;
}

Expected<void> Loop::take_replication(std::vector<net::Packet>& packets) {
  if (replication_ == nullptr) return {};
  auto kept = packets.begin();
  for (net::Packet& packet : packets) {
    KQ_TRY_VALUE(const bool taken, replication_->receive(packet));
    if (taken) continue;
    if (&*kept != &packet) *kept = std::move(packet);
    ++kept;
  }
  packets.erase(kept, packets.end());
  return {};
}

Expected<bool> Loop::await_standby() {
  if (replication_ == nullptr) return true;
  std::size_t deferred_bytes = 0;
  for (const net::Packet& packet : deferred_) deferred_bytes += packet.bytes.size();
  for (;;) {
    KQ_TRY(replication_->send());
    KQ_TRY(replication_->check_lease());
    KQ_TRY_VALUE(const bool waits, replication_->must_wait());
    if (!waits) return true;
    if (stop_ != nullptr && *stop_ != 0) return false;
    KQ_TRY_VALUE(auto packets, link_.receive(kStandbyWaitMs, kPacketsAtOnce));
    KQ_TRY(take_replication(packets));
    for (net::Packet& packet : packets) {
      // A message that finds no room is dropped; its sender repeats it.
      if (deferred_.size() >= kTurnPacketsMax || deferred_bytes >= kTurnBytesMax) break;
      deferred_bytes += packet.bytes.size();
      deferred_.push_back(std::move(packet));
    }
  }
}

Expected<void> Loop::hand_over(std::int64_t wait_ms) {
  const std::int64_t end_ms = now_ms_() + wait_ms;
  while (replication_->lag().value_or(0) > 0 && now_ms_() < end_ms) {
    KQ_TRY(replication_->send());
    KQ_TRY_VALUE(auto packets, link_.receive(kStandbyWaitMs, kPacketsAtOnce));
    KQ_TRY(take_replication(packets));
  }
  return {};
}

std::int64_t Loop::stalled_ms(std::int64_t asked_at_ms, std::int64_t wait_ms) {
  const std::int64_t received_before_ms = received_at_ms_ == 0 ? asked_at_ms : received_at_ms_;
  received_at_ms_ = now_ms_();
  const std::int64_t stalled_ms = received_at_ms_ - wait_ms - received_before_ms;
  return stalled_ms < kStalledMsMin ? 0 : stalled_ms;
}

Expected<void> Loop::step(Event event, Ready& turn) {
  return broker_.step(std::move(event), now_ms_(), turn);
}

Expected<void> Loop::check_space(Ready& turn) {
  if (now_ms_() < check_space_at_ms_ && committed_bytes_ < kSpaceCheckBytes) return {};
  check_space_at_ms_ = now_ms_() + kSpaceCheckMs;
  committed_bytes_ = 0;
  KQ_TRY_VALUE(const auto space, store_.space());
  return step(space, turn);
}

// Starts a backup, or answers a repeated order.
void Loop::back_up(const BackupOrder& order) {
  const bool is_known =
      order.peer == backup_.peer && order.request_id == backup_.request_id && order.dir == backup_.dir;
  if (is_known && backed_up_) {
    deliver(ToClient{order.peer, {order.request_id, *backed_up_}});
  } else if (!copying_.valid()) {
    backup_ = order;
    backed_up_.reset();
    copying_ = std::async(std::launch::async, [this] { return store_.checkpoint(backup_.dir); });
  } else if (!is_known) {
    deliver(ToClient{
        order.peer,
        {order.request_id, Refused{"a backup to " + backup_.dir + " is being made; ask again when it is done"}}});
  }
}

void Loop::answer_backup() {
  if (!copying_.valid() || copying_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const auto copied = copying_.get();
  backed_up_ = copied ? ClientReply(Done{}) : ClientReply(Refused{copied.error().message});
  deliver(ToClient{backup_.peer, {backup_.request_id, *backed_up_}});
}

Expected<void> Loop::finish(Ready turn) {
  for (const Note& note : turn.notes()) log(note);
  const std::vector<BackupOrder> backups = turn.backups();
  for (const store::Write& write : turn.writes())
    committed_bytes_ += write.key.size() + (write.value ? write.value->size() : 0);
  KQ_TRY_VALUE(auto sends, commit(std::move(turn), store_));
  KQ_TRY_VALUE(const bool is_replicated, await_standby());
  if (!is_replicated) return {};
  link_.hold();
  for (const Send& send : sends) std::visit([this](const auto& to) { deliver(to); }, send);
  link_.release();
  for (const BackupOrder& order : backups) back_up(order);
  return {};
}

// A reply that cannot be sent is dropped, because the client sends its request again.
void Loop::deliver(const ToClient& to) {
  (void)link_.send({net::Side::client, to.peer}, encode_message(to.message));
}

// Leases and builds that cannot be sent go back to the broker as an Undelivered event.
void Loop::deliver(const ToWorker& to) {
  if (link_.send({net::Side::worker, to.peer}, encode_message(to.message))) return;
  const std::vector<Lease>* leases = std::visit(LeasesIn{}, to.message.body);
  if (leases == nullptr) return;
  // Each peer gets one event, because the first one drops its session.
  auto lost = std::ranges::find(undelivered_, to.peer, &Undelivered::peer);
  if (lost == undelivered_.end()) lost = undelivered_.insert(lost, {.peer = to.peer, .leases = {}});
  for (const Lease& lease : *leases) lost->leases.push_back(lease.id);
}

}  // namespace kq::broker
