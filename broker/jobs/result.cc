#include "broker/jobs/result.h"

#include <utility>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/result_bounds.h"

namespace kq::broker {

Expected<void> handle_results(Step& step, const std::string& peer, std::uint64_t request_id, ResultBatch batch) {
  // A result counts even without a session: after a restart of the broker it may be the worker's first message.
  Session* session = step.state.workers.find_peer(peer);
  if (session != nullptr && session->epoch != batch.epoch) session = nullptr;
  if (session != nullptr) session->last_seen_ms = step.now_ms;

  ResultAck ack;
  // Acknowledges the lease, and returns the job that its result ends. Null if the result is late, or if another process
  // has the lease.
  const auto job_for = [&](const LeaseId& lease) -> const Job* {
    ack.leases.push_back(lease);
    const Job* job = current(step.state, lease);
    return job == nullptr || is_held_by_another(step.state, *job, batch.epoch) ? nullptr : job;
  };
  for (AttemptResult& result : batch.results) {
    const Job* job = job_for(result.lease);
    if (job == nullptr) continue;
    const auto of_worker = [&] {
      return " of " + (job->lease->worker.empty() ? "no known worker" : job->lease->worker);
    };
    if (const auto error = validation_error(result.result)) {
      KQ_TRY(fail(step, *job, "a result" + of_worker() + " that cannot be: " + *error));
      continue;
    }
    if (cut_to_limits(result.result)) {
      step.ready.warn("results" + of_worker(), "job " + std::to_string(job->record.seq) + ": a result" + of_worker() +
                                                   " was longer than allowed, and is cut");
    }
    if (Session* runner = step.state.workers.find(job->lease->session_id)) runner->failure_count = 0;
    step.state.metrics.add_result(result.result);
    KQ_TRY(finish(step, *job, std::move(result.result)));
  }
  for (const AttemptError& error : batch.errors) {
    const Job* job = job_for(error.lease);
    if (job == nullptr) continue;
    KQ_TRY(fail(step, *job, error.message));
  }
  step.ready.send_to_worker(peer, request_id, std::move(ack));
  if (session == nullptr) step.ready.send_to_worker(peer, request_id, Unknown{});
  return {};
}

}  // namespace kq::broker
