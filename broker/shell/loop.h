// The shell around the pure core: receive, step, commit, send. One thread; it alone touches the sockets and the store.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "net/link.h"
#include "store/store.h"

namespace kq::broker {

inline constexpr std::int64_t kWatchMs = 1'000;
inline constexpr std::size_t kTurnBytesMax =
    4u << 20;  // received, but for the last message: a turn is held in RAM until its commit
inline constexpr std::uint64_t kSpaceBytes = 32u << 20;  // committed between two looks at the disk (store/disk_space.h)

class Loop {
 public:
  // `now_ms` is Unix time that never goes back. All outlive the loop.
  Loop(Broker& broker, store::Store& store, net::ServerLink& link, std::function<std::int64_t()> now_ms);

  // Has `look` called between turns, at once and then every kWatchMs or a little later. It is waited for.
  void watch(std::function<void(std::int64_t now_ms)> look);

  // Turns until `stop` is set; the turn then under way is finished. An Error is fatal: what was not committed was not
  // acknowledged.
  Expected<void> run(const volatile std::sig_atomic_t& stop);

  // One turn: a Tick, everything that has arrived, and a Dispatch, in one commit. Waits for a first packet at most
  // until the broker wants to wake.
  Expected<void> turn();

 private:
  Expected<std::vector<net::Packet>> receive(std::int64_t wait_ms);
  // How long nobody was heard: this receive() returned late, and the turn before it was long. 0 where that is little.
  std::int64_t away_ms(std::int64_t asked_at_ms, std::int64_t wait_ms);
  Expected<void> step(Event event, Ready& turn);
  Expected<void> finish(Ready turn);
  void deliver(const Send& send);
  Expected<void> look_at_space(Ready& turn);
  void back_up(const BackupOrder& order);
  void tell_of_backup();

  Broker& broker_;
  store::Store& store_;
  net::ServerLink& link_;
  std::function<std::int64_t()> now_ms_;
  std::function<void(std::int64_t)> look_;
  std::int64_t look_at_ms_ = 0;
  std::int64_t wake_at_ms_ = 0;
  std::int64_t look_at_space_ms_ = 0;
  std::uint64_t committed_bytes_ = 0;     // since the last look at the disk
  std::int64_t heard_at_ms_ = 0;          // when the last receive() returned
  std::vector<net::Packet> left_;         // by a turn that was long
  std::vector<Undelivered> undelivered_;  // of the last turn
  BackupOrder backup_;                    // the last one
  std::future<Expected<void>> copying_;   // valid while backup_ is made; waited for at the end
  std::optional<ClientReply> backed_up_;  // what came of backup_: whoever did not hear it asks again
};

}  // namespace kq::broker
