// What handlers may ask of the broker. The gateway keeps nothing of its own: a job's id names the job, its run and its
// label, so every gateway beside a broker answers for every id.
//
// All functions may be called from any thread, and block until the broker answers. Where the gateway has tokens, the
// runs of a submitter are named "SUBMITTER/RUN" at the broker, and handlers see and name only "RUN": a handler cannot
// reach a run or job of another submitter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/gateway/http.h"
#include "producer/gateway/job_id.h"
#include "producer/overview/source.h"
#include "producer/submit/pack.h"

namespace kq::gateway {

struct SubmittedJob {
  JobId id;  // of an accepted or reused job
  JobAck ack;
};

using producer::VisibleJobs;

class Service {
 public:
  virtual ~Service() = default;

  // Submits jobs to a run, in as many batches as necessary, and returns one answer for each, in their order. Accepted
  // jobs are on disk. Jobs for which the broker has no room are answered `busy` and not sent again; neither are those
  // beyond the submitter's quota.
  virtual Expected<std::vector<SubmittedJob>> submit(const Submitter& submitter, const std::string& run,
                                                     std::span<const producer::PackedJob> jobs) = 0;

  // Returns the row of a job: its submission, its state and, once it is finished, its result. Fails with not_found for
  // a job that does not exist or belongs to another submitter.
  virtual Expected<RunRow> find(const Submitter& submitter, const JobId& id, bool with_samples = false) = 0;

  // Waits until the job is finished, at most `wait_ms`, and returns its row; the row has no result where the time is
  // over. Fails with interrupted when `abandoned` returns true, or when the gateway stops.
  virtual Expected<RunRow> wait(const Submitter& submitter, const JobId& id, std::int64_t wait_ms, bool with_samples,
                                const std::function<bool()>& abandoned) = 0;

  // Waits until any of the jobs is finished, at most `wait_ms`, and returns the states of all that exist. The caller
  // has the ids from submit() or has checked them with find().
  virtual Expected<std::vector<JobStatus>> wait_any(std::span<const Sequence> jobs, std::int64_t wait_ms,
                                                    const std::function<bool()>& abandoned) = 0;

  // Returns the state of a job with the reason why it waits and its place in the queue.
  virtual Expected<JobStatus> status(const Submitter& submitter, const JobId& id) = 0;

  // Cancels a queued or running job for the submitter. The job goes on, and says so, where another submitter asked for
  // the same work.
  virtual Expected<JobAction> cancel(const Submitter& submitter, const JobId& id) = 0;

  // Returns a source or the problem of a job. Fails with not_found where the job has no such file.
  virtual Expected<FileReply> file(const Submitter& submitter, const JobId& id, const Hash& hash) = 0;

  // A page of the submitter's runs, in the order of names, and a page of one run's rows, in the order of labels.
  virtual Expected<RunsReply> runs(const Submitter& submitter, const RunsQuery& query) = 0;
  virtual Expected<RunReply> run_page(const Submitter& submitter, const RunQuery& query) = 0;
  virtual Expected<BoardReply> board_page(const BoardQuery& query) = 0;

  virtual Expected<BrokerReply> broker() = 0;     // the length of the queue, and the workers with their devices
  virtual Expected<StatsReply> statistics() = 0;  // all metrics of the broker

  // Jobs in one state, in the order of their numbers, and the lanes of the queue, whose submitters are not hidden.
  virtual Expected<VisibleJobs> visible_jobs(const Submitter& submitter, const JobsQuery& query) = 0;
  virtual Expected<QueueReply> lanes(const QueueQuery& query) = 0;

  // What operators may do. They fail with bad_input where the broker refuses, for example because the gateway's key is
  // not that of an admin.
  virtual Expected<JobAction> retry(Sequence seq) = 0;
  virtual Expected<void> pause(const Pause& request) = 0;
  virtual Expected<void> drain(const Drain& request) = 0;

  virtual bool is_stopping() const = 0;         // whether the gateway stops; a stream of events then ends
  virtual std::int64_t now_ms() const = 0;      // Unix time
  virtual std::string random_name() const = 0;  // 16 hex digits, for a run, label or salt that has no name
};

}  // namespace kq::gateway
