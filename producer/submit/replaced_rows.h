// Rows of a run that a call replaces by kernels for another problem, of another author or with other tags. That is
// seldom meant: a.py of two folders has one label where each folder is submitted alone.
#pragma once

#include <optional>
#include <string>

#include "producer/submit/inspect.h"
#include "producer/submit/outcomes.h"
#include "producer/submit/submit.h"

namespace kq::producer {

// The rows are read before the jobs are sent, so only the first jobs of a call are looked at, with a limited number of
// queries. A sentence about a part of the rows says "at least".
inline constexpr std::size_t kLookedAtJobsMax = 10'000;
inline constexpr std::size_t kLookedAtTogether = 1'024;  // labels in memory
inline constexpr std::size_t kLookQueriesMax = 100;

// Returns a function for replaced_rows() that reads the rows of a run from the broker with at most kLookQueriesMax
// queries, and then fails.
ReadRows look_at_rows(Client& client, const std::string& run);

// Returns one sentence about the rows of the run that have the label of a job and another problem's name or file, or
// that lose their author or tags. Returns nothing where there are none.
std::optional<std::string> replaced_rows(const JobSource& source, const ReadRows& read);
// Does the same for jobs that are all in memory.
std::optional<std::string> replaced_rows(const Prepared& prepared, const ReadRows& read);

}  // namespace kq::producer
