// What kq-submit tells of the jobs that it has waited for: how each ended, with times or evidence, and what to do next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/client/run_rows.h"
#include "producer/client/wait.h"
#include "producer/submit/output.h"
#include "producer/submit/submit.h"

namespace kq::producer {

// Of so many jobs of a call the labels are kept for the outcomes, because a call may have a million jobs.
inline constexpr std::size_t kToldJobsMax = 10'000;
// With more failed jobs than this, the first line of each evidence is told.
inline constexpr std::size_t kWholeEvidenceMax = 3;

// Calls `visit` with the rows of these labels of the run. It reads from the broker, or is a test's.
using ReadRows = std::function<Expected<void>(std::vector<std::string> labels, const VisitRow& visit)>;

// Returns a text for each of the first kSentencesShown passed jobs and of the first kSentencesShown others, without a
// line end behind it, and how many more there are with the command that lists them. `place_options` follows the run in
// commands. Rows that cannot be read are left out.
std::vector<std::string> outcome_texts(const SubmitSummary& summary, WaitList& waited_jobs, const ReadRows& read,
                                       const std::string& place_options);

// Returns the sentence that names the next command, or an empty text where no job is finished.
std::string next_command(const SubmitSummary& summary, WaitList& waited_jobs, const std::string& place_options);

// Adds all jobs to the list, with their last known states from a wait, messages and times.
void list_jobs(const SubmitSummary& summary, WaitList& waited_jobs, const ReadRows& read, JobList& list);

}  // namespace kq::producer
