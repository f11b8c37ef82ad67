// What the submissions that one job answers wish of it, as the job's record has it: who submitted the work, and where
// and when it may run.
//
// Several submitters may submit the same work, and it runs once. None of them may hold up or end the job of another, so
// a later submission only widens what the record says, and a submitter that cancels leaves the job to the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/records.h"

namespace kq::broker {

// Returns the submitters whose submissions the unfinished job answers: first the one whose account has the job.
std::vector<std::string> submitters_of(const JobRecord& job);
bool is_for(const JobRecord& job, const std::string& submitter);
// Returns whether the list of submitters is full. Then it may lack some, and no submitter is removed from it.
bool is_for_too_many(const JobRecord& job);

// Adds a submitter, unless the list is full.
void add_submitter(JobRecord& job, const std::string& submitter);
// Moves the job to the account of another of its submitters.
void charge_to(JobRecord& job, const std::string& submitter);
// Removes these submitters. At least one other must remain.
void remove_submitters(JobRecord& job, const std::vector<std::string>& names);

// Returns the record with the wider of its own wishes and those of a later submission: the higher priority, the earlier
// not-before time, the later deadline or none, and only the labels that both require.
JobRecord widened(JobRecord record, const Submission& again, std::int64_t now_ms);

}  // namespace kq::broker
