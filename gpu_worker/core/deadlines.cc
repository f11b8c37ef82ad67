#include "gpu_worker/core/deadlines.h"

#include <string>
#include <string_view>
#include <utility>

#include "gpu_worker/core/limit.h"

namespace kq::worker {
namespace {

constexpr std::string_view kTotal = "total";  // of the verdict where the run's time was over

// What the judge said once the submission was gone tells of its children.
Report too_slow(Report report, std::int64_t limit_ms) {
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

bool is_of_submission(const Verdict& verdict) {
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

Report after_kill(Report report, Killed submission, std::int64_t limit_ms) {
  if (submission == Killed::lives_on || (report.verdict && is_of_submission(*report.verdict)))
    return too_slow(std::move(report), limit_ms);
  // Of a submission that had not begun the judge has no verdict.
  if (!report.verdict)
    report.error =
        "the " + limit_text(limit_ms) + " for its run were over before the submission was at work: " + report.error;
  return report;
}

Expected<Report> without_answer(std::uint64_t plan, Killed submission, std::int64_t limit_ms) {
  if (submission == Killed::is_gone) {
    return our_fault("the " + limit_text(limit_ms) +
                     " for its run were over while the judge did not wait for the submission: it waits for the "
                     "reference, or was stopped");
  }
  Report unsaid;
  unsaid.id = plan;
  return too_slow(std::move(unsaid), limit_ms);
}

bool ran_out_of_time(const Report& report) {
  const Evidence* const why = report.verdict ? evidence_of(*report.verdict) : nullptr;
  return why != nullptr && name_of(*report.verdict) == VerdictName::timed_out && why->reason == kTotal;
}

}  // namespace kq::worker
