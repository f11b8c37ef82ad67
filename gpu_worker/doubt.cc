#include "gpu_worker/doubt.h"

namespace kq {
namespace {

bool is_doubtful(const Report& report) {
  const Measurement* const measured = report.verdict ? measurement_of(*report.verdict) : nullptr;
  if (measured == nullptr || !report.disagreement.empty()) return false;
  const double event_ns = measured->event_ns;
  return event_ns > 0 && event_ns < kDoubtfulBelowNs && measured->submission.median_ns > (1 + kDoubtfulShare) * event_ns;
}

}  // namespace

bool Doubts::wants_another(const Report& report) {
  ++jobs_;
  if (!is_doubtful(report) || again_ * kJobsPerDoubt >= jobs_) return false;
  ++again_;
  return true;
}

void reject_forged_clock(Report& report, const Trials& trials) {
  if (report.disagreement.empty() || trials.timed < kTimedSamplesMin) return;
  report.verdict = ended(VerdictName::rejected, {.stage = Stage::judge,
                                                 .reason = "tamper",
                                                 .message = report.disagreement + ", twice in fresh processes",
                                                 .hint = "leave CUDA events and clocks of the process alone",
                                                 .rule = "clock", .place = {}, .mismatch = {}});
}

}  // namespace kq
