// Rows of a run that a call replaces by kernels for another problem, which is seldom meant: a.py of two folders has one
// label where each is submitted alone.
#pragma once

#include <string>
#include <vector>

#include "producer/submit/inspect.h"
#include "producer/submit/outcomes.h"
#include "producer/submit/submit.h"

namespace kq::producer {

// Calls with more jobs than this are not looked at, because their rows would have to be read before they are sent.
inline constexpr std::size_t kLookedAtJobsMax = 20;

// Returns one sentence for each row of the run with the label of a job and another problem's name. Returns nothing
// where the rows cannot be read.
std::vector<std::string> replaced_rows(const JobSource& source, const ReadRows& read);
// Does the same for jobs that are all in memory.
std::vector<std::string> replaced_rows(const Prepared& prepared, const ReadRows& read);

}  // namespace kq::producer
