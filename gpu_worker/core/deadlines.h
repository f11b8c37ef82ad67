// The end of a run whose limit is over: whose doing it was.
//
// Every single call kept its limit, all of them together did not. The lane then kills the submission, and its judge
// ends the plan as for any that died. Who was at work until then is told by what the judge says, and by whether it says
// anything: one that waited for the submission answers at once.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::worker {

// Whether a submission that was killed is gone. One that is not, with all it started, keeps its judge waiting by its
// own doing.
enum class Killed { is_gone, lives_on };

// The judge's answer after the kill. Without a verdict it is our failure, in words.
Report after_kill(Report report, Killed submission, std::int64_t limit_ms);
// The same where the judge has not answered. An Error: it was stopped, or waits for the reference.
Expected<Report> without_answer(std::uint64_t plan, Killed submission, std::int64_t limit_ms);
// Whether a report says so of a submission.
bool ran_out_of_time(const Report& report);

}  // namespace kq::worker
