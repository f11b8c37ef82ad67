// The states of a job and the function that makes every transition between them.
//
//   submit            lease                result, attempt current
//  -------> [queued] -------> [leased] --------------------------> [finished: verdict]
//              ^                 |
//              `-----------------'
//      the lease expired, the worker left, or kq itself failed: the job gets its next attempt,
//      and after kAttemptsMax failures it is finished as `abandoned`
//
// A queued or leased job that is cancelled becomes finished. A finished job whose verdict is not terminal
// (core/verdict.h) is queued again when it is submitted again.
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

// Returns the state after `event`, or nothing where the event does not apply to the state.
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

// The number that the broker gives to a job when it accepts the job. The numbers ascend; 0 stands for no job.
using Sequence = std::uint64_t;
// The number of a lease of one job, counted from 1; 0 before the first lease. The broker ignores a result whose attempt
// is not the current one.
using Attempt = std::uint32_t;

}  // namespace kq
