// What can go wrong in a world, how often it does in this one, and how often it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/enum_names.h"
#include "tests/sim/random.h"

namespace kq::sim {

enum class Fault {
  // By chance: to a message,
  lost,
  repeated,
  late,         // by seconds: others pass it
  not_taken,    // the link says at once that it cannot send it
  partitioned,  // its way is cut
  // to an attempt, and to a process that starts again.
  attempt_fails,
  attempt_poisoned,  // the job ends its worker
  address_reused,    // the new worker is reached where the old one was
  clock_back,        // the broker's machine shows an earlier time than before
  // Events: to the network, for a while;
  cut,  // both ways
  cut_one_way,
  // to the broker;
  broker_crash,         // between two turns
  broker_crash_within,  // between any two of its commits and messages, or in the middle of a commit
  broker_freeze,
  commit_fails,  // and may have happened all the same
  read_fails,
  disk_full,  // nearly, for a while
  clock_ahead,
  // to a worker;
  worker_crash,
  worker_crash_for_good,
  worker_leaves,
  worker_drains,
  worker_reconnects,
  worker_freeze,
  // to a client.
  client_crash,
};
inline constexpr std::size_t kFaultsN = 25;
inline constexpr Fault kFirstEvent = Fault::cut;

// What one world suffers.
struct FaultRates {
  std::array<double, kFaultsN> of{};  // a chance, or the weight of an event; 0 is never
  std::int64_t delay_ms = 5;          // of a message with which nothing is wrong, at most
  std::int64_t gap_ms_max = 1'000;    // between two events

  double chance(Fault fault) const { return of[static_cast<std::size_t>(fault)]; }
};

// Draws as a swarm does: each world has some faults not at all and others often, so that none hides what another shows.
FaultRates draw_fault_rates(Random& random);
// Nothing where no event has a weight.
std::optional<Fault> draw_event(const FaultRates& rates, Random& random);

struct FaultCounts {
  std::array<std::uint64_t, kFaultsN> of{};

  void add(Fault fault) { ++of[static_cast<std::size_t>(fault)]; }
  FaultCounts& operator+=(const FaultCounts& other);
  std::uint64_t to_messages() const;
  std::uint64_t to_processes() const;  // all others
  std::string text() const;            // "lost 17, repeated 4": those that happened
};

constexpr std::array<std::string_view, kFaultsN> enum_names(Fault) {
  return {"lost",
          "repeated",
          "late",
          "not_taken",
          "partitioned",
          "attempt_fails",
          "attempt_poisoned",
          "address_reused",
          "clock_back",
          "cut",
          "cut_one_way",
          "broker_crash",
          "broker_crash_within",
          "broker_freeze",
          "commit_fails",
          "read_fails",
          "disk_full",
          "clock_ahead",
          "worker_crash",
          "worker_crash_for_good",
          "worker_leaves",
          "worker_drains",
          "worker_reconnects",
          "worker_freeze",
          "client_crash"};
}

}  // namespace kq::sim
