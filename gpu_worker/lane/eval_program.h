// Jobs of the backend eval_program: a problem's own program calls, checks and times the submission
// (harness/eval_program/eval_child.py).
//
// Program, clock and submission share one sandbox, so a submission can forge everything that is read here. Such a
// result has the method kSelfReported, and the hash of its problem is that of no problem that the judge measures, so it
// shares no board with judged times.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/device.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::worker {

// What the program is asked for. A leaderboard run is a test, a benchmark and a leaderboard run, and then all three
// again with secret seeds.
enum class EvalMode { test, benchmark, profile, leaderboard };
constexpr std::array<std::string_view, 4> enum_names(EvalMode) {
  return {"test", "benchmark", "profile", "leaderboard"};
}

// Returns the mode that follows from the workloads that the job selects: "test.*" are the tests, "benchmark.*" the
// benchmarks, with a profile where the job asks for one, and all workloads are a leaderboard run.
EvalMode eval_mode(const Submission& submission);

// Returns the assignment of an eval child.
std::string eval_assignment(const Submission& submission, const std::string& problem_file);

// What is known after the run.
struct EvalReport {
  Verdict verdict;
  std::vector<CaseResult> cases = {};
};

// Returns the report that the child left in the directory `out`. Without a readable one the verdict follows from the
// wait status of the child. The noise of a time follows from the deviation that the program reports, and is on a CPU at
// least kProcessNoiseShare; that of the score is the largest share among the timed cases.
EvalReport eval_report(const std::string& out, int wait_status, DeviceKind device);
// Returns the report of a child that was killed at the limit of the run.
EvalReport eval_timed_out(const std::string& limit);
// Returns the report of a child that was killed because it wrote too much into its directory `out`.
EvalReport eval_overflowed();

}  // namespace kq::worker
