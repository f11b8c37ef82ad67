// The life of a job: one enum, one transition function, everything else is "no change".
//
//   submit            lease                result, attempt current
//  -------> [queued] -------> [leased] --------------------------> [finished: verdict]
//              ^                 |  lease lapsed, worker gone, infrastructure error (attempt+1; after the limit:
//              abandoned)
//              `-----------------'
//    cancel from queued or leased -> [finished: cancelled]
//    a finished job whose verdict does not settle (core/verdict.h) may be queued again by a new submission
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/enum_names.h"

namespace kq {

enum class JobState { queued, leased, finished };
constexpr std::array<std::string_view, 3> enum_names(JobState) {
  return {"queued", "leased", "finished"};
}

enum class JobEvent { lease, requeue, finish, revive };

// The state after `event`, or nothing where the event does not apply: the caller then answers with the current truth.
constexpr std::optional<JobState> after(JobState state, JobEvent event) {
  switch (event) {
    case JobEvent::lease:
      if (state == JobState::queued) return JobState::leased;
      return std::nullopt;
    case JobEvent::requeue:
      if (state == JobState::leased) return JobState::queued;
      return std::nullopt;
    case JobEvent::finish:
      if (state != JobState::finished) return JobState::finished;
      return std::nullopt;
    case JobEvent::revive:
      if (state == JobState::finished) return JobState::queued;
      return std::nullopt;
  }
  return std::nullopt;
}

// The broker's number of a job, in the order of acceptance. 0 is no job.
using Sequence = std::uint64_t;
// Counts leases of one job from 1; it fences results of earlier leases. 0 before the first lease.
using Attempt = std::uint32_t;

}  // namespace kq
