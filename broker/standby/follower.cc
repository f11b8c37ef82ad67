#include "broker/standby/follower.h"

#include <utility>

#include "broker/standby/history.h"
#include "broker/standby/primary.h"
#include "core/codec/codec.h"
#include "core/messages.h"

namespace kq::broker {
namespace {

// A turn takes at most so much from the link before it syncs and reports.
constexpr std::size_t kTurnMessagesMax = 64;
constexpr std::uint64_t kTurnBytesMax = kStreamWindowBytes / 2;
constexpr int kWarnAfterAsking = 5;
constexpr std::int64_t kRetryMs = 100;                 // after a request that the link did not take
constexpr std::uint64_t kCommitBytesMax = 256u << 20;  // a longer commit is malformed

}  // namespace

Expected<Follower> Follower::start(net::ClientLink& link, Options options) {
  Follower follower(link, std::move(options));
  KQ_TRY_VALUE(follower.store_, follower.options_.open());
  return follower;
}

Expected<void> Follower::turn(std::int64_t wait_ms) {
  const std::uint64_t taken_before = taken_;
  for (std::size_t i = 0; i < kTurnMessagesMax && taken_ - taken_before < kTurnBytesMax; ++i) {
    KQ_TRY_VALUE(const auto bytes, link_->receive(i == 0 ? wait_ms : 0));
    if (!bytes) break;
    KQ_TRY(handle(*bytes));
  }
  KQ_TRY(apply());
  const std::int64_t now_ms = options_.now_ms();
  if (session_ != 0 && now_ms - heard_ms_ > kPrimarySilentMs && now_ms >= ask_at_ms_) restart("");
  if (session_ == 0 && now_ms >= ask_at_ms_) return ask();
  if (session_ != 0 && (taken_ != reported_ || now_ms >= report_at_ms_)) return report();
  return {};
}

Expected<void> Follower::ask() {
  History history;
  if (store_) {
    KQ_TRY_VALUE(history, History::read(*store_));
  }
  do session_ = options_.random();
  while (session_ == 0);
  taken_ = reported_ = 0;
  part_ = {};
  records_.clear();
  copy_.reset();
  const std::int64_t now_ms = options_.now_ms();
  ask_at_ms_ = now_ms + kPrimarySilentMs;
  report_at_ms_ = now_ms;
  const Epoch& last = history.last();
  if (!link_->send(encode_standby(Follow{session_, last.number, last.tag, position(), options_.name}))) {
    session_ = 0;
    ask_at_ms_ = now_ms + kRetryMs;
  } else if (++asked_count_ == kWarnAfterAsking && heard_ms_ == 0) {
    options_.log(NoteLevel::warning,
                 "the other broker does not answer; it lets a standby follow only with --replicas 0 or 1");
  }
  if (const auto why = link_->refusal(); why && *why != last_refusal_) {
    last_refusal_ = *why;
    options_.log(NoteLevel::warning, "the primary refuses the connection: " + *why);
  }
  return {};
}

Expected<void> Follower::report() {
  report_at_ms_ = options_.now_ms() + kProgressMs;
  reported_ = taken_;
  (void)link_->send(encode_standby(Progress{session_, taken_, position()}));
  return {};
}

// The next turn asks again, with a new session.
void Follower::restart(const std::string& why) {
  if (!why.empty()) options_.log(NoteLevel::warning, why + "; the standby asks again");
  session_ = 0;
  records_.clear();
}

Expected<void> Follower::handle(const std::string& bytes) {
  if (!is_standby_message(bytes)) {
    // A broker answers a peer whose key it has revoked as it answers a worker.
    const auto reply = decode_message<WorkerReply>(bytes);
    const auto* const refused = reply ? std::get_if<Refused>(&reply->body) : nullptr;
    if (refused != nullptr) {
      if (refused->reason != last_refusal_)
        options_.log(NoteLevel::warning, "the primary refuses this standby: " + refused->reason);
      last_refusal_ = refused->reason;
      return {};
    }
  }
  KQ_TRY_VALUE(const auto message, decode_standby(bytes));
  if (const auto* refused = std::get_if<NotFollowed>(&message)) {
    if (refused->reason != last_refusal_) options_.log(NoteLevel::warning, "not followed: " + refused->reason);
    last_refusal_ = refused->reason;
    ask_at_ms_ = options_.now_ms() + kPrimarySilentMs;
    restart("");
    return {};
  }
  if (const auto* alive = std::get_if<Alive>(&message); alive != nullptr && alive->session == session_) {
    heard_ms_ = options_.now_ms();
    primary_epoch_ = alive->epoch;
    last_refusal_.clear();
  }
  const auto* log = std::get_if<LogPart>(&message);
  const auto* copy = std::get_if<CopyPart>(&message);
  if ((log == nullptr || log->session != session_) && (copy == nullptr || copy->session != session_)) return {};
  heard_ms_ = options_.now_ms();
  taken_ += stream_cost(bytes.size());
  return log != nullptr ? handle(*log) : handle(*copy);
}

Expected<void> Follower::handle(const LogPart& part) {
  const std::uint64_t end = records_.empty() ? position() : records_.back().last;
  const bool fits = part.offset == part_.bytes.size() && part.first == end + 1 && part.last >= part.first &&
                    part.total <= kCommitBytesMax && part.bytes.size() <= part.total - part.offset;
  if (!store_ || !fits) {
    restart("a commit of the primary is missing");
    return {};
  }
  part_.first = part.first;
  part_.last = part.last;
  part_.bytes += part.bytes;
  if (part_.bytes.size() == part.total) records_.push_back(std::exchange(part_, {}));
  return {};
}

Expected<void> Follower::handle(const CopyPart& part) {
  if (!copy_) {
    KQ_TRY_VALUE(auto target, CopyTarget::begin(options_.store_dir));
    copy_.emplace(std::move(target));
    options_.log(NoteLevel::info, "a copy of the primary's store arrives");
  }
  if (!part.name.empty()) return copy_->write(part.name, part.offset, part.bytes);
  store_.reset();
  KQ_TRY(copy_->finish());
  copy_.reset();
  KQ_TRY_VALUE(store_, options_.open());
  options_.log(NoteLevel::info, "the copy is complete, at change " + std::to_string(position()));
  restart("");
  ask_at_ms_ = 0;
  return {};
}

Expected<void> Follower::apply() {
  if (records_.empty() || !store_) return {};
  // From the return of append() on, these commits survive on this machine, too.
  KQ_TRY(store_->commit_log()->append(records_));
  records_.clear();
  return {};
}

}  // namespace kq::broker
