// What kq-submit prints, as text.
#pragma once

#include <cstddef>
#include <string>

#include "producer/submit.h"
#include "producer/wait.h"

namespace kq {

// One job number per line, of accepted and reused jobs.
std::string job_numbers(const SubmitSummary& summary);

// "accepted 3, reused 1, refused 0; run NAME"
std::string counts_text(const SubmitSummary& summary);

// {"run": ..., "jobs": [{"id", "label", "state", "acceptance", "reason"}, ...]}, and each job's "verdict" after a wait.
std::string summary_json(const SubmitSummary& summary, const WaitOutcome* outcome);

// What would be sent: label, backend, device and the first digits of the key, a line or an object each.
std::string dry_run_text(const Prepared& prepared);
std::string dry_run_json(const Prepared& prepared);

// "3 accepted jobs keep running; resume: kq results NAME --wait", the name quoted for a shell where it needs to be.
std::string resume_text(std::size_t unfinished, const std::string& run);

}  // namespace kq
