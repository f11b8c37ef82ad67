// The messages between the worker's control process and its judge process: the worker sends a Plan, and the judge
// replies with a Report.
//
// Both processes are kq's own code and use one socket pair, to which the limits of the codec apply. The file
// descriptors of the children's channels are sent with the Plan, in the order calibrator, reference, submission
// (gpu_worker/channel/channel.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/device.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// The task of a child process of the worker:
//   reference, submission, calibrator: run the reference, the submission or an empty call on the judge's command
//   ready: a child that is forked in advance and gets one of these three tasks later
//   build: reads the sources and builds them
//   record: runs the sources up to their calls of load_inline and records these calls
//   compile: compiles what the recorded calls asked for
//   ready_build: a child for builds that is forked in advance
//   profile: runs a submission under a profiler
//   eval_program: runs the problem's own program, which measures a submission
//   driver_cache: has the driver compile the code that children on a GPU begin with
enum class ChildRole {
  reference,
  submission,
  build,
  calibrator,
  record,
  compile,
  ready,
  profile,
  ready_build,
  eval_program,
  driver_cache
};
constexpr std::array<std::string_view, 11> enum_names(ChildRole) {
  return {"reference", "submission", "build",       "calibrator",   "record",      "compile",
          "ready",     "profile",    "ready_build", "eval_program", "driver_cache"};
}

// When short calls are also timed several in one interval (gpu_worker/judge/trial/burst.h). `doubt`: where the time
// that the submission's process measured is too short to agree with the judge's clock.
enum class Bursts { never, doubt, always };
constexpr std::array<std::string_view, 3> enum_names(Bursts) {
  return {"never", "doubt", "always"};
}

// The limits of one attempt. The limit of a call is call_limit_ms plus call_limit_factor times the time of the
// reference for the same call.
struct Limits {
  std::uint32_t load_limit_ms = 60'000;
  // The first call of a submission may compile and tune its kernels. For at most this time the limit of that call
  // starts only when the call has launched its work.
  std::uint32_t first_launch_limit_ms = 20'000;
  std::uint32_t call_limit_ms = 10'000;
  double call_limit_factor = 20;
  Bursts bursts = Bursts::never;
  // Calls shorter than this are timed in bursts. The error of the judge's clock is about a microsecond, which is a
  // large part of so short a time.
  std::uint32_t burst_below_ns = 20'000;
  // After this time the judge makes no more timed calls if it has kTimedSamplesMin samples.
  std::uint32_t timed_budget_ms = 1'000;
  std::uint64_t window_bytes_max = 8ull << 30;  // inputs, outputs and state of one problem; more is `too_large`
  std::uint64_t host_bytes_max = 4ull << 30;    // private memory of one child beyond what it has after the fork

  friend bool operator==(const Limits&, const Limits&) = default;
};

inline constexpr std::uint32_t kTimedSamplesMin = 5;

// On a CPU a time has at least this noise, as a share of the time. The samples of one process do not show how its
// memory happens to lie: of 200 times of copies of ten references, each in a process of its own, 95 % were within 19 %
// of the median of their reference's times, and 95 % of the references' times within 13 % (scripts/bench speedup
// --device cpu, two cores).
inline constexpr double kProcessNoiseShare = 0.2;

// What the judge needs to know about one attempt.
struct Plan {
  std::uint64_t id = 0;  // repeated in the Report
  // fresh_calibrator and fresh_reference say whether that child was forked for this attempt. Where they are false, the
  // judge uses the child of the previous attempt, and no descriptor of it is sent.
  bool fresh_calibrator = true;
  // The number of the calibrator among those that the worker keeps (gpu_worker/lane/children.h). Each one has its own
  // time for an empty call.
  std::uint32_t calibrator = 0;
  bool fresh_reference = true;
  Backend backend = Backend::torch;
  Trials trials;
  std::optional<double> rtol;
  std::optional<double> atol;
  Limits limits;
  std::vector<Workload> workloads{Workload{}};  // as in Problem
  TruthRule truth = {};
  bool certifies = false;  // whether the judge makes the problem's certificate before anything else
  // Whether the problem's certificate says that a constant is right. Then outputs that never change are suspect.
  bool constant_passes = false;
};
inline constexpr std::int32_t kKilledForMemory = 1 << 16;  // a bit that waitpid does not use

struct ChildExited {
  ChildRole role = ChildRole::submission;
  // The status that waitpid returned, with the bit kKilledForMemory where the child's control group was out of memory.
  std::int32_t wait_status = 0;
};

// Sent before any Plan, with the descriptor of the shared page of gpu_worker/channel/warm_up.h, where the worker forks
// children of a GPU in advance.
struct WarmUpPageShared {};

// The judge's reply to a Plan: a verdict with its samples, or the message of a failure of kq itself.
struct Report {
  std::uint64_t id = 0;
  std::optional<Verdict> verdict;
  Samples samples;
  std::string error;              // set exactly when there is no verdict
  bool reference_usable = false;  // whether the reference child can serve the next attempt on the same problem
  // For a passed verdict: how the clocks of the submission's process and of the judge contradict each other; otherwise
  // empty.
  std::string disagreement = {};
  std::int64_t trials_us = 0;          // as in StageTimes, for any verdict
  std::int64_t waited_us = 0;          // the part of trials_us in which the judge was ready to run but had no processor
  std::vector<CaseResult> cases = {};  // as in Result
  std::optional<ProblemCertificate> certificate = std::nullopt;  // where the plan asked for it and it is complete
  bool wants_own_kernels = false;                                // as in KernelsRan
};
// The judge's first message, sent when its device is open. Where the device does not exist, the judge exits with
// ExitCode::nothing instead.
struct JudgeReady {
  DeviceInfo device;
};

using JudgeRequest = std::variant<Plan, ChildExited, WarmUpPageShared>;
using JudgeReply = std::variant<JudgeReady, Report>;

template <>
struct AlternativeName<Plan> {
  static constexpr std::string_view value = "plan";
};
template <>
struct AlternativeName<ChildExited> {
  static constexpr std::string_view value = "child_exited";
};
template <>
struct AlternativeName<WarmUpPageShared> {
  static constexpr std::string_view value = "warming_shared";
};
template <>
struct AlternativeName<Report> {
  static constexpr std::string_view value = "report";
};
template <>
struct AlternativeName<JudgeReady> {
  static constexpr std::string_view value = "judge_ready";
};

template <class V>
void fields(V& v, Limits& x) {
  v("load_limit_ms", x.load_limit_ms);
  v("first_launch_limit_ms", x.first_launch_limit_ms);
  v("call_limit_ms", x.call_limit_ms);
  v("call_limit_factor", x.call_limit_factor);
  v("bursts", x.bursts);
  v("burst_below_ns", x.burst_below_ns);
  v("timed_budget_ms", x.timed_budget_ms);
  v("window_bytes_max", x.window_bytes_max);
  v("host_bytes_max", x.host_bytes_max);
}
template <class V>
void fields(V& v, Plan& x) {
  v("id", x.id);
  v("fresh_calibrator", x.fresh_calibrator);
  v("calibrator", x.calibrator);
  v("fresh_reference", x.fresh_reference);
  v("backend", x.backend);
  v("trials", x.trials);
  v("rtol", x.rtol);
  v("atol", x.atol);
  v("limits", x.limits);
  v("workloads", x.workloads);
  v("truth", x.truth);
  v("certifies", x.certifies);
  v("constant_passes", x.constant_passes);
}
template <class V>
void fields(V& v, ChildExited& x) {
  v("role", x.role);
  v("wait_status", x.wait_status);
}
template <class V>
void fields(V&, WarmUpPageShared&) {}
template <class V>
void fields(V& v, Report& x) {
  v("id", x.id);
  v("verdict", x.verdict);
  v("samples", x.samples);
  v("error", x.error);
  v("reference_usable", x.reference_usable);
  v("disagreement", x.disagreement);
  v("trials_us", x.trials_us);
  v("waited_us", x.waited_us);
  v("cases", x.cases);
  v("certificate", x.certificate);
  v("wants_own_kernels", x.wants_own_kernels);
}
template <class V>
void fields(V& v, JudgeReady& x) {
  v("device", x.device);
}

}  // namespace kq
