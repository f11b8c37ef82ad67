// The serving broker's end of replication: it accepts one standby, streams the log or a copy to it, and knows what the
// standby has on disk.
//
// Only the loop's thread uses it, except that a checkpoint for a copy is made by a thread of its own. Nothing unsent is
// kept in memory: the stream is read from the log or from the checkpoint when the standby can take it.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "broker/core/event.h"
#include "broker/standby/copy_source.h"
#include "broker/standby/history.h"
#include "broker/standby/lease_file.h"
#include "broker/standby/protocol.h"
#include "broker/standby/replication.h"
#include "core/operations.h"
#include "store/commit_log.h"
#include "store/store.h"

namespace kq::broker {

// A standby that sent nothing for so long is gone. It reports at least every kProgressMs.
inline constexpr std::int64_t kStandbySilentMs = 3'000;
inline constexpr std::int64_t kProgressMs = 300;
inline constexpr std::int64_t kAliveMs = 200;  // between two Alive messages

class Primary final : public Replication {
 public:
  struct Options {
    bool is_required = false;  // a reply waits until the standby has its commit on disk
    // After so long without a required standby the broker goes on alone, and its lease says so. Needs a lease; nothing
    // means that it waits for ever.
    std::optional<std::int64_t> alone_after_ms = {};
    std::string checkpoint_dir = {};  // beside the store, so that a checkpoint is made of hard links
  };

  // All references outlive this object. `lease` may be null. `history` is that of `store`, with this broker's epoch.
  Primary(store::Store& store, const History& history, net::ServerLink& link, HeldLease* lease, Options options,
          std::function<std::int64_t()> now_ms, std::function<void(NoteLevel, const std::string&)> log);

  Expected<bool> receive(const net::Packet& packet) override;
  Expected<void> send() override;
  Expected<bool> must_wait() override;
  Expected<void> check_lease() override;

  // The state for metrics and logs.
  bool is_connected() const { return standby_.has_value(); }
  bool is_in_sync() const { return standby_ && is_in_sync_ && in_sync_name_ == standby_->name; }
  std::uint64_t epoch() const { return history_.last().number; }
  std::optional<std::uint64_t> lag() const override;
  void append_to(std::vector<Metric>& metrics) const;

 private:
  struct Standby {
    net::Peer peer;
    std::uint64_t session = 0;
    std::string name;
    std::int64_t heard_ms = 0;
    std::uint64_t sent = 0;      // cost of what was streamed
    std::uint64_t taken = 0;     // of that, what the standby has taken
    std::uint64_t streamed = 0;  // the last change that was streamed, or is in the copy
    std::uint64_t applied = 0;   // the last change that the standby has on disk
    bool is_copying = false;
    std::vector<store::LogRecord> records = {};  // read from the log and not yet streamed
    std::size_t record = 0;                      // index of the record that is streamed next
    std::size_t offset = 0;                      // bytes of it that were streamed
  };

  void follow(const net::Packet& packet, const Follow& follow);
  Expected<void> progressed(const Progress& progress);
  void begin_copy();
  Expected<void> send_copy();
  Expected<void> send_log();
  bool has_window() const { return standby_->sent - standby_->taken < kStreamWindowBytes; }
  // Sends a part of the stream. Drops the standby and returns false if the link does not take it.
  bool stream(const StandbyMessage& message);
  void drop(const std::string& why);
  Expected<void> enter_sync();
  Expected<void> go_on_alone();

  store::Store& store_;
  store::CommitLog& commits_;
  const History& history_;
  net::ServerLink& link_;
  HeldLease* const lease_;
  const Options options_;
  const std::function<std::int64_t()> now_ms_;
  const std::function<void(NoteLevel, const std::string&)> log_;
  std::optional<Standby> standby_;
  std::int64_t alive_at_ms_ = 0;
  std::future<Expected<void>> checkpoint_;  // valid while a checkpoint is made; the destructor waits for it
  std::optional<CopySource> copy_;
  // Whether the standby of that name had every commit on disk at some time and nothing was acknowledged without it
  // since then. Only then may it take over.
  bool is_in_sync_ = false;
  std::string in_sync_name_;
  bool is_alone_ = false;                       // a required standby is missing for too long
  std::optional<std::int64_t> waits_since_ms_;  // since when replies wait
  bool has_warned_ = false;
};

}  // namespace kq::broker
