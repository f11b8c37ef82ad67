// Deadline policy: which verdict an attempt gets whose run has passed its time limit.
//
// Every single call has kept its own limit, but all of them together have taken too long. The lane then kills the
// submission, and the judge ends the plan as for any child that died. Whether the submission or the reference was at
// work until then follows from the judge's report, or from its absence: a judge that waited for the submission reports
// at once.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::worker {

// What is left of a submission that was killed. One that is still alive, with all processes it started, makes its judge
// wait: the time is then charged to the submission.
enum class AfterKill { is_gone, is_alive };

// Returns the judge's report, with the verdict timed_out if the submission used up the time. A report without a verdict
// stays a failure of ours, and its error says that the limit was over.
Report report_after_kill(Report report, AfterKill submission, std::int64_t limit_ms);
// The same if the judge has sent no report. Fails if the submission is gone: then the judge was stopped from outside or
// waits for the reference.
Expected<Report> report_without_answer(std::uint64_t plan, AfterKill submission, std::int64_t limit_ms);
// Whether a report has the verdict timed_out because of the run's limit.
bool has_timed_out(const Report& report);

}  // namespace kq::worker
