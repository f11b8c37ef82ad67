#include "gpu_worker/core/remeasure.h"

#include <string>
#include <string_view>

namespace kq::worker {
namespace {

constexpr std::string_view kQuietRule = "quiet";  // judge/trial/trials.cc

bool exceeds_own_time(const Report& report) {
  const Measurement* const measured = report.verdict ? measurement_of(*report.verdict) : nullptr;
  if (measured == nullptr || !report.disagreement.empty()) return false;
  const double event_ns = measured->event_ns;
  return event_ns > 0 && event_ns < kExcessBelowNs && measured->submission.median_ns > (1 + kExcessShareMax) * event_ns;
}

}  // namespace

bool RemeasurePolicy::needs_remeasurement(const Report& report) {
  ++jobs_;
  if (!exceeds_own_time(report) || remeasured_ * kJobsPerRemeasurement >= jobs_) return false;
  ++remeasured_;
  return true;
}

Expected<void> reject_forged_clock(Report& report, const Trials& trials, Measured measured) {
  if (report.disagreement.empty() || trials.timed < kTimedSamplesMin) return {};
  if (measured == Measured::once)
    return our_fault(report.disagreement + ", and the limit of the job left no time to measure again");
  if (static_cast<double>(report.waited_us) > kWaitedShareMax * static_cast<double>(report.trials_us)) {
    return our_fault(report.disagreement + ", twice, and of " + std::to_string(report.trials_us / 1'000) +
                     " ms of trials the judge waited " + std::to_string(report.waited_us / 1'000) +
                     " ms for a processor: the host is too busy to measure on");
  }
  report.verdict = ended(VerdictName::rejected, {.stage = Stage::judge,
                                                 .reason = "tamper",
                                                 .message = report.disagreement + ", twice in fresh processes",
                                                 .hint = "leave CUDA events and clocks of the process alone",
                                                 .rule = "clock",
                                                 .place = {},
                                                 .mismatch = {}});
  return {};
}

Expected<void> check_foreign_processes(const Verdict& verdict, const std::optional<Conditions>& conditions) {
  const Evidence* const evidence = evidence_of(verdict);
  const bool was_not_quiet =
      name_of(verdict) == VerdictName::rejected && evidence != nullptr && evidence->rule == kQuietRule;
  if (!was_not_quiet || !conditions || !conditions->foreign || conditions->foreign->empty()) return {};
  std::string processes;
  for (const GpuProcess& process : *conditions->foreign)
    processes += (processes.empty() ? "" : ", ") + std::to_string(process.pid) + " (" +
                 std::to_string(process.memory_mib) + " MiB)";
  return our_fault(evidence->message + "; but processes that are not kq's use it too: " + processes +
                   "; a worker needs a GPU of its own");
}

}  // namespace kq::worker
