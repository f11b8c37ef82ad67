// Every change in a job's life. Here, and only here, the RAM record, the lane, the session that holds the lease, the
// accounts and what is on disk move together.
#pragma once

#include <memory>
#include <string>

#include "broker/core/state.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::broker {

// The unfinished job, from RAM or from the store, or null.
Expected<Job*> load(Step& step, Sequence seq);

// A submission becomes a queued job, or brings a finished one back: the record is the caller's. An error: more
// different requirements or submitters than one broker keeps, as bad input. `submission` spares reading it back, where
// it is at hand.
Expected<void> enqueue(Step& step, JobRecord record, std::shared_ptr<const Submission> submission = nullptr);

// What is to be run, from RAM or from the store; null if the store has lost it.
Expected<const Submission*> submission_of(Step& step, Job& job);

// The next attempt begins. Its number is durable before the lease leaves, so it fences for ever.
void lease_out(Step& step, Job& job, Session& session, std::size_t device);

// The session says that it runs this lease: renewed, and taken up where nobody held it.
void hold(Step& step, Job& job, Session& session);

// The session is gone. The lease runs on until its deadline: the worker may come back under another address.
void orphan(Step& step, Job& job);

// Queued again, and nobody's failure.
void put_back(Step& step, Job& job, const std::string& why);

// Our failure on this attempt: queued again after a pause, longer each time, or after the limit finished as `abandoned`
// with `message` as its evidence.
Expected<void> fail(Step& step, Job& job, const std::string& message);

// Finished as `abandoned` at once: another attempt would fail in the same way.
Expected<void> abandon(Step& step, Job& job, const std::string& message);

// Finished as `cancelled`; whoever runs it is told.
Expected<void> cancel(Step& step, Job& job, const std::string& by);

// The same work was submitted again for a queued job. Whatever wish brings it on counts, whoever has it: the higher
// priority, the earlier time before which it must not run, the later deadline or none.
Expected<void> bring_on(Step& step, const JobRecord& queued, const Submission& again);

// The time of a queued job has come: it enters its lane.
void come_due(Step& step, Job& job);

// Its deadline has passed while it was queued: finished as `expired`.
Expected<void> expire_queued(Step& step, Job& job);

// The end: state, result, samples and the board row if it is a better one, in one commit.
Expected<void> finish(Step& step, Job& job, Result result);

// The job whose current lease this is, or null: the lease lapsed, was superseded, or never was.
Job* current(State& state, const LeaseId& lease);

// Whether another worker process than that of the epoch runs the leased job: then that one alone speaks for the lease,
// at whatever address. Each draws its epoch at random and tells it to nobody but us.
bool is_held_by_another(State& state, const Job& job, std::uint64_t epoch);

// The entry of the job in the store's index.
store::QueueEntry entry_of(const JobRecord& record);

}  // namespace kq::broker
