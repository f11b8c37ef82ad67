// Decides whether this broker serves or stands by, and follows the other broker until it may serve.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "broker/core/event.h"
#include "broker/standby/history.h"
#include "broker/standby/lease_file.h"
#include "net/link.h"
#include "store/store.h"

namespace kq::broker {

struct StandbyOptions {
  std::string store_dir;
  std::string url;     // where this broker serves
  std::string follow;  // URL of the other broker; empty: this broker never stands by
  std::string lease_path;
  std::int64_t takeover_ms = 2'000;
  // Whether a standby may follow this broker; 1: replies wait until it has their commit on disk
  std::optional<int> replicas;
  std::optional<std::int64_t> alone_after_ms;

  bool is_used() const { return replicas || !follow.empty() || !lease_path.empty(); }
};

// What await_service() needs of the world.
struct StandbyWorld {
  std::function<Expected<std::unique_ptr<store::Store>>()> open;           // for serving; makes a missing store
  std::function<Expected<std::unique_ptr<store::Store>>()> open_follower;  // null if there is no store
  std::function<Expected<std::unique_ptr<net::ClientLink>>()> connect;     // to the workers' socket of the other broker
  std::function<void()> stands_by;                                         // called once this broker stands by
  std::function<void(NoteLevel, const std::string&)> log;
};

// A broker that may serve.
struct Service {
  std::unique_ptr<store::Store> store;
  History history;
  std::unique_ptr<HeldLease> lease;  // null without a lease file
};

// The file beside the store that orders a standby to take over.
std::string promote_path(const std::string& store_dir);

// The name of this broker: host and store.
std::string standby_name(const std::string& store_dir);

// Returns the store once this broker may serve, or nothing when `stop` is set.
//
// With a lease file, the broker serves if it gets the lease. Without one, a broker with another one to follow serves if
// it was the last to begin an epoch and the other one does not serve a later epoch, or when it is ordered to.
Expected<std::optional<Service>> await_service(const StandbyOptions& options, const StandbyWorld& world,
                                               const volatile std::sig_atomic_t& stop);

}  // namespace kq::broker
