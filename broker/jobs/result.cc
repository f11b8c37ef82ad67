#include "broker/jobs/result.h"

#include <utility>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/result_bounds.h"

namespace kq::broker {

Expected<void> take_results(Step& step, const std::string& peer, std::uint64_t request_id, ResultBatch batch) {
  // A result counts even from an unknown session: after a restart of the broker it may be the first thing that arrives.
  Session* session = step.state.workers.find_peer(peer);
  if (session != nullptr && session->epoch != batch.epoch) session = nullptr;
  if (session != nullptr) session->last_seen_ms = step.now_ms;

  ResultAck ack;
  // The job that this ends, or null: it comes too late, or not from whoever runs it: the answer is that nobody waits
  // for it.
  const auto job_for = [&](const LeaseId& lease) -> Job* {
    ack.leases.push_back(lease);
    Job* job = current(step.state, lease);
    return job == nullptr || is_held_by_another(step.state, *job, batch.epoch) ? nullptr : job;
  };
  for (AttemptResult& result : batch.results) {
    Job* job = job_for(result.lease);
    if (job == nullptr) continue;
    const auto whose = [&] { return " of " + (job->tenure->worker.empty() ? "no known worker" : job->tenure->worker); };
    if (const auto complaint = complaint_about(result.result)) {
      if (auto done = fail(step, *job, "a result" + whose() + " that cannot be: " + *complaint); !done) return done;
      continue;
    }
    if (cut_to_limits(result.result)) {
      step.ready.warn("results" + whose(), "job " + std::to_string(job->record.seq) + ": a result" + whose() +
                                               " was longer than allowed, and is cut");
    }
    if (Session* holder = step.state.workers.find(job->tenure->holder)) holder->failures_n = 0;
    step.state.metrics.heard(result.result);
    if (auto done = finish(step, *job, std::move(result.result)); !done) return done;
  }
  for (const AttemptError& error : batch.errors) {
    Job* job = job_for(error.lease);
    if (job == nullptr) continue;
    if (auto done = fail(step, *job, error.message); !done) return done;
  }
  step.ready.send_to_worker(peer, request_id, std::move(ack));
  if (session == nullptr) step.ready.send_to_worker(peer, request_id, Unknown{});
  return {};
}

}  // namespace kq::broker
