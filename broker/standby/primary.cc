#include "broker/standby/primary.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace kq::broker {
namespace {

constexpr std::size_t kReadBytes = 1u << 20;  // of the log at once
// A turn sends at most so much of a copy, so that reading files does not delay the turn.
constexpr std::uint64_t kCopyBytesPerTurn = 2u << 20;
constexpr std::uint64_t kNearChanges = 10'000;  // a standby that lacks fewer needs less than a second
constexpr std::int64_t kWarnAfterMs = 1'000;    // that replies wait

store::CommitLog& log_of(store::Store& store) {
  store::CommitLog* const log = store.commit_log();
  KQ_CHECK(log != nullptr);
  return *log;
}

// Whether the sender may copy the store: it has a key of that role, or the broker runs without keys and accepts only
// programs of this machine.
bool may_follow(const Identity& who) {
  return who.role == Role::standby || who.name.empty();
}

}  // namespace

Primary::Primary(store::Store& store, const History& history, net::ServerLink& link, HeldLease* lease, Options options,
                 std::function<std::int64_t()> now_ms, std::function<void(NoteLevel, const std::string&)> log)
    : store_(store),
      commits_(log_of(store)),
      history_(history),
      link_(link),
      lease_(lease),
      options_(std::move(options)),
      now_ms_(std::move(now_ms)),
      log_(std::move(log)) {}

std::optional<std::uint64_t> Primary::lag() const {
  if (!standby_) return std::nullopt;
  return commits_.position() - std::min(standby_->applied, commits_.position());
}

void Primary::append_to(std::vector<Metric>& metrics) const {
  metrics.push_back({.name = "kq_broker_epoch", .labels = {}, .value = static_cast<double>(epoch())});
  metrics.push_back({.name = "kq_standby_connected", .labels = {}, .value = is_connected() ? 1.0 : 0.0});
  metrics.push_back({.name = "kq_standby_in_sync", .labels = {}, .value = is_in_sync() ? 1.0 : 0.0});
  metrics.push_back({.name = "kq_standby_lag_changes", .labels = {}, .value = static_cast<double>(lag().value_or(0))});
}

Expected<bool> Primary::receive(const net::Packet& packet) {
  // A standby's key may use the socket for replication only.
  if (!is_standby_message(packet.bytes)) return packet.who.role == Role::standby;
  auto message = decode_standby(packet.bytes);
  if (message && !may_follow(packet.who)) message = bad_input("a key with the role standby is needed to follow");
  if (!message) {
    link_.count_violation(packet, message.error().message);
    (void)link_.send(packet.peer, encode_standby(NotFollowed{message.error().message}));
    return true;
  }
  if (const auto* fence = std::get_if<Fence>(&*message); fence != nullptr && fence->epoch > epoch()) {
    return our_fault("the broker at " + fence->url + " serves epoch " + std::to_string(fence->epoch) +
                     ", this one began epoch " + std::to_string(epoch()) +
                     "; it must not serve any more, start it with --follow " + fence->url);
  }
  if (const auto* asked = std::get_if<Follow>(&*message)) follow(packet, *asked);
  if (const auto* progress = std::get_if<Progress>(&*message)) {
    const bool is_current = standby_ && standby_->session == progress->session && standby_->peer == packet.peer;
    if (is_current) KQ_TRY(progressed(*progress));
  }
  return true;
}

void Primary::follow(const net::Packet& packet, const Follow& follow) {
  if (standby_ && standby_->name != follow.name && now_ms_() - standby_->heard_ms < kStandbySilentMs) {
    (void)link_.send(packet.peer, encode_standby(NotFollowed{"another standby follows already: " + standby_->name}));
    return;
  }
  // With a lease, a later epoch is one of a broker that did not get the lease; its store is replaced by a copy.
  if (lease_ == nullptr && follow.epoch > epoch()) {
    (void)link_.send(packet.peer, encode_standby(NotFollowed{"the standby has epoch " + std::to_string(follow.epoch) +
                                                             ", which is later than this broker's epoch " +
                                                             std::to_string(epoch())}));
    return;
  }
  copy_.reset();
  standby_ = Standby{.peer = packet.peer, .session = follow.session, .name = follow.name, .heard_ms = now_ms_()};
  alive_at_ms_ = 0;
  if (history_.is_ancestor(follow.epoch, follow.tag, follow.position, commits_.position())) {
    standby_->streamed = standby_->applied = follow.position;
    log_(NoteLevel::info, "standby " + follow.name + " follows from change " + std::to_string(follow.position) +
                              " of " + std::to_string(commits_.position()));
  } else {
    log_(NoteLevel::info, "standby " + follow.name + " gets a copy of the store");
    begin_copy();
  }
}

Expected<void> Primary::progressed(const Progress& progress) {
  standby_->heard_ms = now_ms_();
  standby_->taken = std::max(standby_->taken, std::min(progress.taken, standby_->sent));
  if (progress.position <= commits_.position()) standby_->applied = std::max(standby_->applied, progress.position);
  if (standby_->is_copying) return {};
  // A broker that goes on alone waits again once the standby is near: under load it would never catch up by itself.
  if (commits_.position() - standby_->applied <= kNearChanges) is_alone_ = false;
  if (standby_->applied == commits_.position()) return enter_sync();
  return {};
}

Expected<void> Primary::enter_sync() {
  if (is_in_sync_ && in_sync_name_ == standby_->name) return {};
  // The lease names the standby before anything is acknowledged on its word.
  if (options_.is_required && lease_ != nullptr) KQ_TRY(lease_->set_standby(standby_->name));
  is_in_sync_ = true;
  is_alone_ = false;
  in_sync_name_ = standby_->name;
  log_(NoteLevel::info, "standby " + standby_->name + " has every commit on disk");
  return {};
}

// From here on no standby may take over, until one has every commit again.
Expected<void> Primary::go_on_alone() {
  KQ_CHECK(lease_ != nullptr);
  KQ_TRY(lease_->set_standby(std::string(kNoStandby)));
  is_alone_ = true;
  is_in_sync_ = false;
  waits_since_ms_.reset();
  has_warned_ = false;
  log_(NoteLevel::warning, "no standby has every commit; this broker goes on alone");
  return {};
}

void Primary::begin_copy() {
  standby_->is_copying = true;
  standby_->records.clear();
  if (checkpoint_.valid()) return;  // of a session before; it serves this one
  std::error_code stays;
  std::filesystem::remove_all(options_.checkpoint_dir, stays);
  checkpoint_ = std::async(std::launch::async, [this] { return store_.checkpoint(options_.checkpoint_dir); });
}

bool Primary::stream(const StandbyMessage& message) {
  std::string bytes = encode_standby(message);
  standby_->sent += stream_cost(bytes.size());
  if (link_.send(standby_->peer, std::move(bytes))) return true;
  drop("its connection takes no more messages");
  return false;
}

void Primary::drop(const std::string& why) {
  log_(NoteLevel::warning, "standby " + standby_->name + " is gone: " + why);
  standby_.reset();
  copy_.reset();
}

Expected<void> Primary::send() {
  if (!standby_) return {};
  const std::int64_t now_ms = now_ms_();
  if (now_ms - standby_->heard_ms > kStandbySilentMs) {
    drop("it was silent for " + std::to_string(kStandbySilentMs) + " ms");
    return {};
  }
  if (now_ms >= alive_at_ms_) {
    alive_at_ms_ = now_ms + kAliveMs;
    (void)link_.send(standby_->peer, encode_standby(Alive{standby_->session, epoch(), commits_.position()}));
  }
  return standby_->is_copying ? send_copy() : send_log();
}

Expected<void> Primary::send_copy() {
  if (checkpoint_.valid()) {
    if (checkpoint_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
    // A copy that fails, for example because the disk is full, must not end the service. The standby asks again.
    const auto made = checkpoint_.get();
    auto source = made ? CopySource::open(options_.checkpoint_dir) : failure(made.error());
    if (!source) {
      drop("it gets no copy: " + source.error().message);
      return {};
    }
    copy_.emplace(*std::move(source));
  }
  if (!copy_) {
    if (standby_->streamed == 0) begin_copy();
    return {};
  }
  for (const std::uint64_t end = standby_->sent + kCopyBytesPerTurn; has_window() && standby_->sent < end;) {
    auto next = copy_->next(kPartBytesMax);
    if (!next) {
      drop("it gets no copy: " + next.error().message);
      return {};
    }
    auto& part = *next;
    if (!part) {
      // The standby opens the copy and asks again from its position.
      standby_->streamed = 1;
      copy_.reset();
      (void)stream(CopyPart{.session = standby_->session, .name = "", .offset = 0, .bytes = ""});
      return {};
    }
    if (!stream(CopyPart{standby_->session, std::move(part->name), part->offset, std::move(part->bytes)})) return {};
  }
  return {};
}

Expected<void> Primary::send_log() {
  while (has_window()) {
    if (standby_->record == standby_->records.size()) {
      if (standby_->streamed >= commits_.position()) return {};
      KQ_TRY_VALUE(auto slice, commits_.read(standby_->streamed, kReadBytes));
      if (slice.is_gap) {
        log_(NoteLevel::warning, "standby " + standby_->name + " is too far behind for the log and gets a copy");
        begin_copy();
        return {};
      }
      standby_->records = std::move(slice.records);
      standby_->record = 0;
      if (standby_->records.empty()) return {};
    }
    const store::LogRecord& record = standby_->records[standby_->record];
    const std::string part = record.bytes.substr(standby_->offset, kPartBytesMax);
    if (!stream(LogPart{standby_->session, record.first, record.last, standby_->offset, record.bytes.size(), part}))
      return {};
    standby_->offset += part.size();
    if (standby_->offset < record.bytes.size()) continue;
    standby_->streamed = record.last;
    standby_->offset = 0;
    ++standby_->record;
  }
  return {};
}

Expected<bool> Primary::must_wait() {
  if (!options_.is_required || is_alone_) return false;
  if (standby_ && is_in_sync_ && in_sync_name_ == standby_->name && standby_->applied >= commits_.position()) {
    if (has_warned_) log_(NoteLevel::info, "replies no longer wait for a standby");
    waits_since_ms_.reset();
    has_warned_ = false;
    return false;
  }
  const std::int64_t now_ms = now_ms_();
  if (!waits_since_ms_) waits_since_ms_ = now_ms;
  if (!has_warned_ && now_ms - *waits_since_ms_ > kWarnAfterMs) {
    has_warned_ = true;
    log_(NoteLevel::warning, standby_ ? "replies wait for standby " + standby_->name
                                      : std::string("replies wait for a standby, and none is connected"));
  }
  if (!options_.alone_after_ms || now_ms - *waits_since_ms_ < *options_.alone_after_ms) return true;
  KQ_TRY(go_on_alone());
  return false;
}

Expected<void> Primary::check_lease() {
  if (lease_ == nullptr) return {};
  lease_->touch();
  if (lease_->is_valid()) return {};
  return our_fault(
      "this broker lost its lease, because it was stopped for too long or cannot write the lease file; "
      "it must not serve any more");
}

}  // namespace kq::broker
