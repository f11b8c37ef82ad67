// The shell around the pure core: it receives messages, steps the broker, commits its writes and sends its messages.
//
// One thread runs the loop, and only this thread uses the sockets and the store, except for backups: a backup is copied
// by a thread of its own, because on another file system it copies the whole store.
//
// Work is done in turns. A turn is a Tick, the messages that have arrived, and a Dispatch, with one synced commit for
// all of them. The Tick reads what the turn before committed.
//
// With a required standby, a turn sends its messages when the standby has the commit on disk, too. Meanwhile the loop
// reads only messages of the standby and defers the others, so nothing is told that a failover could undo. The next
// Tick treats the wait as a stall.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "broker/standby/replication.h"
#include "net/link.h"
#include "store/store.h"

namespace kq::broker {

inline constexpr std::int64_t kObserveMs = 1'000;
// A turn stops receiving after this many bytes, because it is in memory until its commit. The last message may exceed
// the limit.
inline constexpr std::size_t kTurnBytesMax = 4u << 20;
// The disk space is checked after this many committed bytes (store/disk_space.h).
inline constexpr std::uint64_t kSpaceCheckBytes = 32u << 20;

class Loop {
 public:
  // `now_ms` returns Unix time that never goes back. All arguments outlive the loop.
  Loop(Broker& broker, store::Store& store, net::ServerLink& link, std::function<std::int64_t()> now_ms);

  // Has `observer` called between turns: after the first turn, and then every kObserveMs or a little later. The loop
  // waits for the call.
  void observe(std::function<void(std::int64_t now_ms)> observer);

  // Replicates every commit. `replication` outlives the loop.
  void replicate(Replication& replication) { replication_ = &replication; }

  // Waits at most `wait_ms` until the standby has every commit, so that it can take over at once.
  Expected<void> hand_over(std::int64_t wait_ms);

  // Runs turns until `stop` is set. The turn that is under way is finished. An Error is fatal: the loop has not
  // acknowledged events whose writes were not committed.
  Expected<void> run(const volatile std::sig_atomic_t& stop);

  // Runs one turn. It waits for a first message at most until the broker wants to wake.
  Expected<void> turn();

 private:
  Expected<std::vector<net::Packet>> receive(std::int64_t wait_ms);
  // Removes and handles the messages of a standby.
  Expected<void> take_replication(std::vector<net::Packet>& packets);
  // Sends the commit to the standby and waits for it if it is required. Returns false if the process is to stop first.
  Expected<bool> await_standby();
  // Returns for how long no message could be read, because this receive() returned late or the turn before it was long.
  // Returns 0 for a short time.
  std::int64_t stalled_ms(std::int64_t asked_at_ms, std::int64_t wait_ms);
  Expected<void> step(Event event, Ready& turn);
  Expected<void> finish(Ready turn);
  void deliver(const ToClient& to);
  void deliver(const ToWorker& to);
  Expected<void> check_space(Ready& turn);
  void back_up(const BackupOrder& order);
  void answer_backup();

  Broker& broker_;
  store::Store& store_;
  net::ServerLink& link_;
  std::function<std::int64_t()> now_ms_;
  std::function<void(std::int64_t)> observer_;
  Replication* replication_ = nullptr;
  const volatile std::sig_atomic_t* stop_ = nullptr;  // of run()
  std::int64_t observe_at_ms_ = 0;
  std::int64_t wake_at_ms_ = 0;
  std::int64_t check_space_at_ms_ = 0;
  std::uint64_t committed_bytes_ = 0;     // since the last check of the disk space
  std::int64_t received_at_ms_ = 0;       // when the last receive() returned
  std::vector<net::Packet> deferred_;     // messages that a long turn left to the next one
  std::vector<Undelivered> undelivered_;  // of the last turn
  BackupOrder backup_;                    // the last one
  std::future<Expected<void>> copying_;   // valid while backup_ is copied; the destructor waits for it
  std::optional<ClientReply> backed_up_;  // the answer to backup_, for a client that did not receive it and asks again
};

}  // namespace kq::broker
