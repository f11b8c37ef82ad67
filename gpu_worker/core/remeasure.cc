#include "gpu_worker/core/remeasure.h"

#include <string>
#include <string_view>

namespace kq::worker {
namespace {

constexpr std::string_view kQuietRule = "quiet";  // of judge/trials.cc

bool is_doubtful(const Report& report) {
  const Measurement* const measured = report.verdict ? measurement_of(*report.verdict) : nullptr;
  if (measured == nullptr || !report.disagreement.empty()) return false;
  const double event_ns = measured->event_ns;
  return event_ns > 0 && event_ns < kDoubtfulBelowNs &&
         measured->submission.median_ns > (1 + kDoubtfulShare) * event_ns;
}

}  // namespace

bool Doubts::wants_another(const Report& report) {
  ++jobs_;
  if (!is_doubtful(report) || again_ * kJobsPerDoubt >= jobs_) return false;
  ++again_;
  return true;
}

Expected<void> reject_forged_clock(Report& report, const Trials& trials, Looks looks) {
  if (report.disagreement.empty() || trials.timed < kTimedSamplesMin) return {};
  if (looks == Looks::one) return our_fault(report.disagreement + ", and its limit left no time to look again");
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

Expected<void> blame_foreigners(const Verdict& verdict, const std::optional<Conditions>& conditions) {
  const Evidence* const why = evidence_of(verdict);
  const bool was_not_quiet = name_of(verdict) == VerdictName::rejected && why != nullptr && why->rule == kQuietRule;
  if (!was_not_quiet || !conditions || !conditions->foreign || conditions->foreign->empty()) return {};
  std::string who;
  for (const GpuProcess& one : *conditions->foreign)
    who += (who.empty() ? "" : ", ") + std::to_string(one.pid) + " (" + std::to_string(one.memory_mib) + " MiB)";
  return our_fault(why->message + "; but processes that are not kq's use it too: " + who +
                   "; a worker needs a GPU of its own");
}

}  // namespace kq::worker
