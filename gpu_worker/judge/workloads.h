// The workloads of one attempt: which of the problem's workloads run, how many calls each gets, and how their outcomes
// become one verdict.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan.h"
#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

// The timed calls of all workloads of an attempt together are at most this many times the plan's, but each workload has
// at least kTimedSamplesMin.
inline constexpr std::uint32_t kTimedCallsFactor = 2;

// Returns the indices of the workloads that any of the selections names. Stops with problem_invalid where there are
// none.
Step<std::vector<std::uint32_t>> selected(std::span<const WorkloadRow> workloads, std::span<const Workload> selections);

// Returns whether a text fits a pattern in which * stands for any text and ? for one byte.
bool fits_pattern(std::string_view text, std::string_view pattern);

// The calls that check all workloads before any is timed are likewise at most kTimedCallsFactor times the plan's, with
// at least this many for each workload. Without timed calls each workload gets all that the plan asks for.
inline constexpr std::uint32_t kCheckedCallsMin = 2;

// Returns the plan for the calls that check one of `count` workloads before any is timed.
Plan check_plan(const Plan& plan, std::size_t count);
// Returns the plan for the timed calls of one of `count` workloads. Of several workloads none has bursts in doubt: the
// bursts of one take as long as all its other calls (25 to 45 ms, H100).
Plan timing_plan(const Plan& plan, std::size_t count);

// Returns a message that says in which workload something happened.
std::string in_workload(const std::string& workload, const std::string& message);

// Adds what other calls have shown to the correctness of a submission: the largest errors, and the errors against the
// truth that are farther from it.
void add(Correctness& correctness, const Correctness& other);

// Combines the outcomes of workloads. Where any has ended, the verdict is that of the first one that has, with its
// workload's name in the message; otherwise it is suspect where any is suspect, and passed where all have passed. Times
// are weighted geometric means over the workloads, so the speedup is the weighted geometric mean of the speedups.
Verdict combine(std::span<const CaseResult> cases);

}  // namespace kq::judge
