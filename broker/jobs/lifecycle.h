// Every change in a job's life.
//
// The states of a job are in core/job.h. A change touches several places: the job in memory, its lane or timer, the
// session that has its lease, the accounts, and the records on disk. lifecycle.cc is the only code that changes the
// queue's tables (broker/tables/queue.h), so that all these places change together. That is why all other code gets
// jobs as const.
//
// An error of these functions means that the store could not be read, unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/core/step.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::broker {

// Reading.

// Returns the unfinished job from memory or from the store, or null.
Expected<const Job*> load(Step& step, Sequence seq);
// Returns what the job runs, from memory or from the store, or null if the store has lost it.
Expected<const Submission*> submission_of(Step& step, const Job& job);
// Returns the job whose current lease this is. Null if the lease has lapsed, was superseded, or never was.
const Job* current(const State& state, const LeaseId& lease);
// Returns whether a worker process with another epoch runs the job, which must be leased. Then only that process speaks
// for the lease, from whatever address: each process draws its epoch at random and sends it to the broker alone.
bool is_held_by_another(const State& state, const Job& job, std::uint64_t epoch);
// Returns the entry of the job in the store's index (store::Family::queue).
store::QueueEntry entry_of(const JobRecord& record);

// Into the queue.

// Queues a new job, or a finished job again. The record is the caller's. `submission` saves reading it from the store.
// Fails with bad_input if there are more different requirements or submitters than the broker's limits allow.
Expected<void> enqueue(Step& step, JobRecord record, std::shared_ptr<const Submission> submission = nullptr);
// The same work was submitted again, by the same submitter or another, while the job is unfinished. The job gets the
// wider of both wishes (broker/jobs/wishes.h). A queued job moves to the account of the later submitter if that has
// fewer unfinished jobs, or if the earlier one is paused. Fails with bad_input as enqueue() does.
Expected<void> merge_submission(Step& step, const JobRecord& unfinished, const Submission& again,
                                const std::string& submitter);
// The time that a queued job waited for has come: the job enters its lane.
void activate(Step& step, const Job& job);
// Fires the timers that are due: jobs enter their lanes, and jobs whose deadline has passed expire. Called in a Tick,
// before any timer is set.
Expected<void> fire_timers(Step& step);
// Stops or resumes handing out the jobs of a submitter. The caller keeps the switch itself.
void pause_submitter(Step& step, const std::string& submitter, bool paused);

// Leases.

// Returns the queued job that should run next on one of the offered devices, or nothing. The job stays queued.
std::optional<store::QueuePlace> choose_next(Step& step, const Offer& offer, const Scheduler::WarmthFor& warmth_for);
// Begins the next attempt. Its number is durable before the lease is sent, so older results never count again.
void grant_lease(Step& step, const Job& job, Session& session, std::size_t device);
// Renews a lease that the session's heartbeat lists. A lease without a session gets this one.
void renew_lease(Step& step, const Job& job, Session& session);
// Counts a heartbeat that omits a lease of its session. Returns how many heartbeats in a row have omitted the lease.
std::uint32_t count_missed_heartbeat(Step& step, const Job& job);
// Takes the lease from its session, which has ended. The lease runs on until its deadline: the worker may reconnect.
void release_lease(Step& step, const Job& job);
// Gives all leases more time.
void extend_leases(Step& step, std::int64_t ms);
// Queues a leased job again without counting a failure.
void requeue(Step& step, const Job& job, const std::string& why);
// Counts a failure of kq. The job is queued again after a pause, longer each time. After the last attempt it is
// finished as `abandoned` with `message` as its evidence.
Expected<void> fail(Step& step, const Job& job, const std::string& message);

// Endings.

// Finishes the job as `abandoned` at once, because another attempt would fail in the same way.
Expected<void> abandon(Step& step, const Job& job, const std::string& message);
// Finishes the job as `cancelled`, and revokes its lease.
Expected<void> cancel(Step& step, const Job& job, const std::string& by);
// Takes these submitters from a job that goes on for others.
Expected<void> cancel_for(Step& step, const Job& job, const std::vector<std::string>& submitters);
// Finishes as `expired` a queued job whose deadline has passed.
Expected<void> expire_queued(Step& step, const Job& job);
// Finishes the job: writes state, result and samples, and the leaderboard row if it is a better one, in one commit.
Expected<void> finish(Step& step, const Job& job, Result result);

// What is in memory.

// Adds a queued job that was read from the store.
void cache_job(Step& step, Job job);
// Adds the next jobs of the index to a lane's window. `exhausted` says that the index has no more of this lane.
void refill_lane(Step& step, const store::LaneId& lane, std::span<const Lane::QueuedJob> more, bool exhausted);
// Drops the jobs from memory that need not stay there (JobTable::shrink).
void shrink_job_table(Step& step);

}  // namespace kq::broker
