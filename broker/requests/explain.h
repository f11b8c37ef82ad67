// Explains why queued jobs do not run yet.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "broker/core/state.h"
#include "core/messages.h"

namespace kq::broker {

// Explains the jobs of one reply. The state must not change meanwhile: the explainer caches what it computed for jobs
// of the same class and priority.
// Whether a connected worker that is not draining can run jobs with these requirements.
bool may_be_taken(const State& state, const Requirements& needs);

class WaitExplainer {
 public:
  explicit WaitExplainer(const State& state) : state_(state) {}

  // Sets why, position, ahead, until_ms and served in the status of a queued job.
  void explain(const JobRecord& record, JobStatus& status);

 private:
  // The jobs that compete with the jobs of one class and priority: all that run on the same workers.
  struct Competitors {
    std::vector<std::uint32_t> classes{};                    // of any priority, their own included
    std::map<std::uint32_t, std::uint64_t> queued_counts{};  // queued jobs of the same priority, by submitter
    std::uint64_t higher_priority_count = 0;                 // queued jobs of higher priorities
  };

  const Competitors& competitors_of(std::uint32_t needs, Priority priority);
  std::uint64_t ahead_of(const store::LaneId& own, Sequence seq);

  const State& state_;
  std::map<std::pair<std::uint32_t, Priority>, Competitors> competitors_;
};

}  // namespace kq::broker
