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

// A turn is closed here too: its first sender waits for its last.
constexpr std::size_t kTurnPacketsMax = 2'048;
constexpr std::size_t kPacketsAtOnce = 32;
// What a long turn has not come to waits for the next, so that others are answered and workers heard: a message may
// take 50 ms.
constexpr std::int64_t kTurnMsMax = 100;
constexpr std::int64_t kAwayMsMin = 1'000;  // less is not told
// How soon a signal is noticed that came just before the wait.
constexpr std::int64_t kIdleMs = 200;
constexpr std::int64_t kSpaceMs = 1'000;  // between looks at the disk, unless much is committed sooner

void log(Note note) {
  // Notes quote what workers say: one note is one line, whatever they put into it.
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

// The event in a packet. What cannot be read is answered in words to a client; a worker resends or lapses. The link
// notes it of both, and takes less from them.
std::optional<Event> event_in(net::Packet packet, net::ServerLink& link, Ready& turn) {
  std::string& peer = packet.peer.id;
  if (packet.peer.side == net::Side::client) {
    auto message = decode_message<ClientRequest>(packet.bytes);
    if (message) return FromClient{std::move(peer), std::move(*message), std::move(packet.who)};
    link.blame(packet, message.error().message);
    turn.send_to_client(peer, 0, Refused{message.error().message});
    return std::nullopt;
  }
  auto message = decode_message<WorkerRequest>(packet.bytes);
  if (message) return FromWorker{std::move(peer), std::move(*message), std::move(packet.who)};
  link.blame(packet, message.error().message);
  return std::nullopt;
}

}  // namespace

Loop::Loop(Broker& broker, store::Store& store, net::ServerLink& link, std::function<std::int64_t()> now_ms)
    : broker_(broker), store_(store), link_(link), now_ms_(std::move(now_ms)) {}

void Loop::watch(std::function<void(std::int64_t)> look) {
  look_ = std::move(look);
}

Expected<void> Loop::run(const volatile std::sig_atomic_t& stop) {
  while (stop == 0) {
    if (auto done = turn(); !done) return done;
  }
  return {};
}

Expected<void> Loop::turn() {
  const std::int64_t asked_at_ms = now_ms_();
  const bool waits = undelivered_.empty() && left_.empty();
  const std::int64_t wait_ms = waits ? std::clamp<std::int64_t>(wake_at_ms_ - asked_at_ms, 0, kIdleMs) : 0;
  KQ_TRY_VALUE(auto packets, receive(wait_ms));
  const std::int64_t away_ms = this->away_ms(asked_at_ms, wait_ms);
  for (std::string& text : link_.take_notes()) log({NoteLevel::warning, std::move(text)});
  // One synced write serves the whole turn: the Tick reads what the turn before committed, the Dispatch what is in RAM.
  Ready turn;
  if (auto done = step(Tick{.away_ms = away_ms}, turn); !done) return done;
  if (auto done = look_at_space(turn); !done) return done;
  for (Undelivered& event : std::exchange(undelivered_, {})) {
    if (auto done = step(std::move(event), turn); !done) return done;
  }
  std::size_t bytes = 0;
  for (auto packet = packets.begin(); packet != packets.end(); ++packet) {
    if (now_ms_() > heard_at_ms_ + kTurnMsMax || bytes >= kTurnBytesMax) {
      left_.assign(std::make_move_iterator(packet), std::make_move_iterator(packets.end()));
      break;
    }
    bytes += packet->bytes.size();
    auto event = event_in(std::move(*packet), link_, turn);
    if (!event) continue;
    if (auto done = step(std::move(*event), turn); !done) return done;
  }
  if (auto done = step(Dispatch{}, turn); !done) return done;
  wake_at_ms_ = turn.wake_at_ms().value_or(now_ms_() + kIdleMs);
  if (auto done = finish(std::move(turn)); !done) return done;
  tell_of_backup();
  if (look_ && now_ms_() >= look_at_ms_) {
    look_at_ms_ = now_ms_() + kWatchMs;
    look_(now_ms_());
  }
  return {};
}

// What the last turn left comes first, but behind what workers have sent since.
Expected<std::vector<net::Packet>> Loop::receive(std::int64_t wait_ms) {
  std::vector<net::Packet> packets = std::exchange(left_, {});
  const bool has_left = !packets.empty();
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
  if (has_left)
    std::ranges::stable_partition(packets,
                                  [](const net::Packet& packet) { return packet.peer.side == net::Side::worker; });
  return packets;
}

std::int64_t Loop::away_ms(std::int64_t asked_at_ms, std::int64_t wait_ms) {
  const std::int64_t heard_before_ms = heard_at_ms_ == 0 ? asked_at_ms : heard_at_ms_;
  heard_at_ms_ = now_ms_();
  const std::int64_t away_ms = heard_at_ms_ - wait_ms - heard_before_ms;
  return away_ms < kAwayMsMin ? 0 : away_ms;
}

Expected<void> Loop::step(Event event, Ready& turn) {
  return broker_.step(std::move(event), now_ms_(), turn);
}

Expected<void> Loop::look_at_space(Ready& turn) {
  if (now_ms_() < look_at_space_ms_ && committed_bytes_ < kSpaceBytes) return {};
  look_at_space_ms_ = now_ms_() + kSpaceMs;
  committed_bytes_ = 0;
  KQ_TRY_VALUE(const auto space, store_.space());
  return step(space, turn);
}

// By a thread of its own: on another file system it is a copy of all there is.
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

void Loop::tell_of_backup() {
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
  link_.hold();
  for (const Send& send : sends) deliver(send);
  link_.release();
  for (const BackupOrder& order : backups) back_up(order);
  return {};
}

void Loop::deliver(const Send& send) {
  if (const auto* to_client = std::get_if<ToClient>(&send)) {
    (void)link_.send({net::Side::client, to_client->peer},
                     encode_message(to_client->message));  // the client asks again
    return;
  }
  const auto& to_worker = std::get<ToWorker>(send);
  if (link_.send({net::Side::worker, to_worker.peer}, encode_message(to_worker.message))) return;
  const auto* batch = std::get_if<LeaseBatch>(&to_worker.message.body);
  const auto* builds = std::get_if<BuildBatch>(&to_worker.message.body);
  if (batch == nullptr && builds == nullptr) return;
  // One event for a peer: with the first its session is forgotten.
  auto lost = std::ranges::find(undelivered_, to_worker.peer, &Undelivered::peer);
  if (lost == undelivered_.end()) lost = undelivered_.insert(lost, {.peer = to_worker.peer, .leases = {}});
  for (const Lease& lease : batch != nullptr ? batch->leases : builds->builds) lost->leases.push_back(lease.id);
}

}  // namespace kq::broker
