// The faults of a simulated world: their kinds, their rates in one world, and their counts.
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
  // Faults of a message, drawn for each message:
  lost,
  repeated,
  late,         // by seconds, so that later messages overtake it
  not_taken,    // the link refuses to send it
  partitioned,  // its direction is cut
  // Faults of an attempt or of a process that starts, drawn each time:
  attempt_fails,
  attempt_poisoned,  // the job kills its worker
  address_reused,    // a new worker process has the address of the old one
  clock_back,        // the broker's clock is set back
  // Events of the network, for a limited time:
  cut,  // in both directions
  cut_one_way,
  // Events of the broker:
  broker_crash,         // between two turns
  broker_crash_within,  // between any two commits or messages, or during a commit
  broker_freeze,
  commit_fails,  // the commit may have been applied anyway
  read_fails,
  disk_full,  // the disk is nearly full for a limited time
  clock_ahead,
  // Events of a worker:
  worker_crash,
  worker_crash_for_good,
  worker_leaves,
  worker_drains,
  worker_reconnects,
  worker_freeze,
  // Events of a client:
  client_crash,
};
inline constexpr std::size_t kFaultCount = 25;
inline constexpr Fault kFirstEvent = Fault::cut;

// How often each fault happens in one world.
struct FaultRates {
  std::array<double, kFaultCount> of{};  // a probability, or the weight of an event; 0 means never
  std::int64_t delay_ms = 5;             // the longest delay of a message without a fault
  std::int64_t gap_ms_max = 1'000;       // the longest time between two events

  double chance(Fault fault) const { return of[static_cast<std::size_t>(fault)]; }
};

// Draws the rates of one world. Each world lacks some faults and has others often (swarm testing), because a frequent
// fault can hide the effects of another one.
FaultRates draw_fault_rates(Random& random);
// Draws the next event; returns nothing if no event has a weight.
std::optional<Fault> draw_event(const FaultRates& rates, Random& random);

// How often each fault has happened.
struct FaultCounts {
  std::array<std::uint64_t, kFaultCount> of{};

  void add(Fault fault) { ++of[static_cast<std::size_t>(fault)]; }
  FaultCounts& operator+=(const FaultCounts& other);
  std::uint64_t to_messages() const;
  std::uint64_t to_processes() const;  // all faults except those of messages
  std::string text() const;            // such as "lost 17, repeated 4"; faults with the count 0 are left out
};

constexpr std::array<std::string_view, kFaultCount> enum_names(Fault) {
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
