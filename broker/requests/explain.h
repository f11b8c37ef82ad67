// Why queued jobs do not run yet, for whoever asks.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "broker/core/state.h"
#include "core/messages.h"

namespace kq::broker {

// One for each answer: nothing changes meanwhile, and what it finds out about one job it knows of those like it.
class Waits {
 public:
  explicit Waits(const State& state) : state_(state) {}

  // Fills why, position, ahead, until_ms and served of a queued job's status.
  void explain(const JobRecord& record, JobStatus& status);

 private:
  // What competes with jobs of one class and priority: all that a worker runs which would run them.
  struct Rivals {
    std::vector<std::uint32_t> classes{};               // of any priority, their own among them
    std::map<std::uint32_t, std::uint64_t> queued_n{};  // of the same priority, by submitter
    std::uint64_t higher_n = 0;                         // of higher priorities, queued
  };

  const Rivals& rivals_of(std::uint32_t needs, Priority priority);
  std::uint64_t ahead_of(const store::LaneId& own, Sequence seq);

  const State& state_;
  std::map<std::pair<std::uint32_t, Priority>, Rivals> rivals_;
};

}  // namespace kq::broker
