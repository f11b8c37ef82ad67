#include "gpu_worker/core/deadlines.h"

#include <string>
#include <string_view>
#include <utility>

#include "gpu_worker/core/limit.h"

namespace kq::worker {
namespace {

constexpr std::string_view kTotal = "total";  // the reason of a verdict timed_out by the limit of the run

// Replaces what the judge reported of children that the lane has killed.
Report with_timeout(Report report, std::int64_t limit_ms) {
  report.error.clear();
  report.samples = {};
  report.disagreement.clear();
  report.verdict =
      ended(VerdictName::timed_out, {.stage = Stage::run,
                                     .reason = std::string(kTotal),
                                     .message = "all trials together took longer than " + limit_text(limit_ms),
                                     .hint = {},
                                     .rule = {},
                                     .place = {},
                                     .mismatch = {}});
  return report;
}

bool is_submission_fault(const Verdict& verdict) {
  switch (row_of(name_of(verdict)).fault) {
    case Fault::none:
    case Fault::user:
    case Fault::policy:
      return true;
    case Fault::problem:
    case Fault::nobody:
    case Fault::ours:
      return false;
  }
  return false;
}

}  // namespace

Report report_after_kill(Report report, AfterKill submission, std::int64_t limit_ms) {
  if (submission == AfterKill::is_alive || (report.verdict && is_submission_fault(*report.verdict)))
    return with_timeout(std::move(report), limit_ms);
  // The judge has no verdict if the submission had not begun.
  if (!report.verdict)
    report.error =
        "the " + limit_text(limit_ms) + " for the run were over before the submission was at work: " + report.error;
  return report;
}

Expected<Report> report_without_answer(std::uint64_t plan, AfterKill submission, std::int64_t limit_ms) {
  if (submission == AfterKill::is_gone) {
    return our_fault("the " + limit_text(limit_ms) +
                     " for the run were over while the judge did not wait for the submission: the judge waits "
                     "for the reference, or was stopped");
  }
  Report report;
  report.id = plan;
  return with_timeout(std::move(report), limit_ms);
}

bool has_timed_out(const Report& report) {
  const Evidence* const evidence = report.verdict ? evidence_of(*report.verdict) : nullptr;
  return evidence != nullptr && name_of(*report.verdict) == VerdictName::timed_out && evidence->reason == kTotal;
}

}  // namespace kq::worker
