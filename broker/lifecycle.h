// Every change in a job's life. Here, and only here, the RAM record, the lane, the session that holds the lease and the
// record on disk move together.
#pragma once

#include <string>

#include "broker/state.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// A submission becomes a queued job, or brings a finished one back: the figures of `job` are the caller's.
void enqueue(Step& step, Job job);

// The next attempt begins. Its number is durable before the lease leaves, so it fences for ever.
void lease_out(Step& step, Job& job, Session& session, const DeviceInfo& device);

// The session says that it runs this lease: renewed, and taken over from whoever held it.
void hold(Step& step, Job& job, Session& session);

// The session is gone. The lease runs on until its deadline: the worker may come back under another address.
void orphan(Step& step, Job& job);

// Queued again, and nobody's failure.
void put_back(Step& step, Job& job, const std::string& why);

// Our failure on this attempt: queued again, or after the limit finished as `abandoned` with `message` as its evidence.
Expected<void> fail(Step& step, Job& job, const std::string& message);

// Finished as `abandoned` at once: another attempt would fail in the same way.
Expected<void> abandon(Step& step, Job& job, const std::string& message);

// The end: state, result, samples and the board row if it is a better one, in one commit.
Expected<void> finish(Step& step, Job& job, Result result);

// The job whose current lease this is, or null: the lease lapsed, was superseded, or never was.
Job* current(State& state, const LeaseId& lease);

}  // namespace kq
