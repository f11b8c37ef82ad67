// The standby's end of replication: it keeps a copy of the primary's store and applies what the primary commits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/core/event.h"
#include "broker/standby/copy_target.h"
#include "broker/standby/protocol.h"
#include "net/link.h"
#include "store/commit_log.h"
#include "store/store.h"

namespace kq::broker {

// A standby that hears nothing for so long asks again.
inline constexpr std::int64_t kPrimarySilentMs = 1'000;

class Follower {
 public:
  struct Options {
    std::string store_dir;
    std::string name;  // host and store
    // Opens the store for following; returns null if the directory has none.
    std::function<Expected<std::unique_ptr<store::Store>>()> open;
    std::function<std::int64_t()> now_ms;
    std::function<std::uint64_t()> random;
    std::function<void(NoteLevel, const std::string&)> log;
  };

  // Opens the store if there is one. `link` outlives this object; it connects to the workers' socket of the primary.
  static Expected<Follower> start(net::ClientLink& link, Options options);

  // Waits at most `wait_ms` for a message, and handles all that have arrived. Commits are on disk when it returns.
  Expected<void> turn(std::int64_t wait_ms);

  // The store that follows; null before the first copy is complete.
  store::Store* store() { return store_.get(); }
  std::unique_ptr<store::Store> take_store() { return std::move(store_); }
  // When the primary last sent something; 0: never.
  std::int64_t heard_ms() const { return heard_ms_; }
  // The epoch in which the primary serves; 0: not known.
  std::uint64_t primary_epoch() const { return primary_epoch_; }

 private:
  Follower(net::ClientLink& link, Options options) : link_(&link), options_(std::move(options)) {}

  Expected<void> handle(const std::string& bytes);
  Expected<void> handle(const LogPart& part);
  Expected<void> handle(const CopyPart& part);
  Expected<void> apply();
  Expected<void> ask();
  Expected<void> report();
  void restart(const std::string& why);
  std::uint64_t position() const { return store_ ? store_->commit_log()->position() : 0; }

  net::ClientLink* link_;
  Options options_;
  std::unique_ptr<store::Store> store_;
  std::uint64_t session_ = 0;  // 0: none; ask() begins one
  std::int64_t ask_at_ms_ = 0;
  std::int64_t report_at_ms_ = 0;
  std::int64_t heard_ms_ = 0;
  std::uint64_t primary_epoch_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t reported_ = 0;             // what the last report said of taken_
  std::vector<store::LogRecord> records_;  // received in this turn and not yet applied
  store::LogRecord part_;                  // the commit whose parts arrive
  std::optional<CopyTarget> copy_;
  std::string last_refusal_;
  int asked_count_ = 0;  // without an answer so far
};

}  // namespace kq::broker
