// What the worker's control process and its judge process say to each other: a Plan goes in, a Report comes out.
//
// Both ends are our own code on one socket pair; the codec's limits hold here too. Descriptors of the children's
// channels travel beside the Plan, first the calibrator's, then the reference's, then the submission's
// (gpu_worker/channel/channel.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/device.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// ready: forked ahead, and told later which of the others with a channel it is. build: reads the sources. record: runs
// them as far as their calls of load_inline. compile: compiles what those asked for. ready_build: a build's child that
// is forked ahead. profile: a submission under a profiler.
enum class ChildRole { reference, submission, build, calibrator, record, compile, ready, profile, ready_build };
constexpr std::array<std::string_view, 9> enum_names(ChildRole) {
  return {"reference", "submission", "build", "calibrator", "record", "compile", "ready", "profile", "ready_build"};
}

// When calls that are short enough are also timed several at once (gpu_worker/judge/trial/burst.h). doubt: where the
// submission's clock says less than the judge's can agree with.
enum class Bursts { never, doubt, always };
constexpr std::array<std::string_view, 3> enum_names(Bursts) {
  return {"never", "doubt", "always"};
}

// Limits of one attempt. A call's limit is call_limit_ms plus call_limit_factor times the reference's own time for that
// call.
struct Limits {
  std::uint32_t load_limit_ms = 60'000;
  std::uint32_t first_launch_limit_ms = 20'000;  // a submission's first call may compile and tune: so long its limit
                                                 // does not begin before it has launched its work
  std::uint32_t call_limit_ms = 10'000;
  double call_limit_factor = 20;
  Bursts bursts = Bursts::never;
  std::uint32_t burst_below_ns =
      20'000;  // what is short enough: the judge's clock is off by a microsecond or so, which is too much beside these
  std::uint32_t timed_budget_ms =
      1'000;  // timed calls stop here once there are kTimedSamplesMin of them: a slow kernel needs fewer
  std::uint64_t window_bytes_max = 8ull << 30;  // inputs, outputs and state of one problem; more is `too_large`
  std::uint64_t host_bytes_max = 4ull << 30;    // private memory of one child beyond what it was born with

  friend bool operator==(const Limits&, const Limits&) = default;
};

inline constexpr std::uint32_t kTimedSamplesMin = 5;

// One attempt, as the judge sees it.
struct Plan {
  std::uint64_t id = 0;  // echoed in the Report
  // Whether these children were forked for this attempt; false: they are those of the last one, and no descriptor
  // travels for them.
  bool fresh_calibrator = true;
  std::uint32_t calibrator = 0;  // which one of those that are kept: children of one kind (gpu_worker/lane/children.h)
                                 // answer in a time of their own
  bool fresh_reference = true;
  Backend backend = Backend::torch;
  Trials trials;
  std::optional<double> rtol;
  std::optional<double> atol;
  Limits limits;
};
inline constexpr std::int32_t kKilledForMemory = 1 << 16;  // above what waitpid uses

struct ChildExited {
  ChildRole role = ChildRole::submission;
  std::int32_t wait_status =
      0;  // as of waitpid; with kKilledForMemory where its control group had no more memory to give
};

// Comes with one descriptor, before any plan, where children are forked ahead on a GPU: the page of
// gpu_worker/channel/warm_up.h.
struct WarmUpPageShared {};

// The judge's answer: a verdict with its samples, or an Error of ours in words.
struct Report {
  std::uint64_t id = 0;
  std::optional<Verdict> verdict;
  Samples samples;
  std::string error;              // set exactly when there is no verdict
  bool reference_usable = false;  // the reference child may serve the next attempt on the same problem
  std::string disagreement =
      {};  // of a passed one: its own clock and the judge's cannot both be right, in words; else empty
  std::int64_t trials_us = 0;  // as in StageTimes, of any verdict
  std::int64_t waited_us = 0;  // of these: the judge was ready and had no processor
};
// The judge's first message: its device is open. It exits with ExitCode::nothing instead where there is no such device.
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
}
template <class V>
void fields(V& v, JudgeReady& x) {
  v("device", x.device);
}

}  // namespace kq
