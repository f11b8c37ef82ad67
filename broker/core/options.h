// The limits and intervals of the broker. The defaults are what kq-broker runs with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/tables/queue_lane.h"
#include "core/limits.h"

namespace kq::broker {

struct BrokerOptions {
  // Leases and failures.
  std::uint32_t lease_ms = 30'000;            // a lease that is not renewed for this long expires
  std::uint32_t heartbeat_ms = 5'000;         // workers are told to send a heartbeat this often
  std::uint32_t attempts_max = kAttemptsMax;  // a job with this many failures of kq ends as `abandoned`
  std::uint32_t heartbeats_missed_max = 2;    // a lease that this many heartbeats in a row omit has failed
  // A worker gets no jobs for a while after a failed attempt, twice as long after each failure in a row, so that one
  // broken worker cannot use up the attempts of a whole queue.
  std::uint32_t worker_backoff_ms_min = 1'000;
  std::uint32_t worker_backoff_ms_max = 30'000;
  // A job waits after a failure of kq, twice as long after each one.
  std::uint32_t job_backoff_ms_min = 1'000;
  std::uint32_t job_backoff_ms_max = 60'000;

  // Quotas. Beyond them submissions are answered `busy`. Bytes are those of the jobs' records and files.
  std::uint64_t unfinished_jobs_max = 20'000'000;  // queued and leased together
  std::uint64_t unfinished_bytes_max = 100ull << 30;
  std::uint64_t submitter_jobs_max = 10'000'000;  // of one submitter
  std::uint64_t submitter_bytes_max = 50ull << 30;
  std::uint32_t busy_retry_ms = 1'000;     // a client that was answered `busy` should retry after this long
  std::size_t classes_max = 1'024;         // different requirements in use; each costs time at every lease
  std::size_t submitter_classes_max = 64;  // of one submitter's jobs, so that one submitter cannot use all classes
  std::size_t submitters_max = 65'536;

  // Memory.
  LaneWindow lane_window{};                       // of each lane
  std::size_t queued_jobs_cached_max = 1u << 14;  // records of queued jobs in memory, about 30 MB
  std::size_t board_rows_cached_max = 4'096;      // rows of boards in memory
  std::size_t boards_cached_max = 65'536;         // boards whose number of kernels is in memory, about 10 MB

  // Work of one Tick. A Tick that reaches a limit asks to be woken at once.
  std::size_t timers_per_step_max = 1'024;
  std::size_t refills_per_step_max = 16;  // lanes whose windows are refilled from the store
  bool notes_per_job = false;             // whether debug notes are made for each job; they double the cost of a step

  // Retention.
  std::int64_t keep_ms = 0;     // a finished job that was not asked for again is removed after this; 0 means never
  std::uint64_t keep_jobs = 0;  // a finished job is removed once so many newer ones were submitted; 0 means never
  // No job is removed before this (or keep_ms, if that is less), so that a client that waits for it sees its result.
  std::int64_t keep_ms_min = 3'600'000;
  std::int64_t retention_pause_ms = 60'000;      // between two walks over the finished jobs
  std::int64_t retention_step_interval_ms = 10;  // between two steps of a walk, each of which takes some milliseconds
  std::size_t jobs_removed_per_step_max = 128;
  std::size_t records_read_per_step_max = 512;
  std::size_t files_read_per_step_max = 64;
  // Files that no job names are removed this long after the last sweep, or once the jobs removed since then are a
  // quarter of the jobs that remain.
  std::int64_t file_sweep_interval_ms = 21'600'000;

  // Clients that wait for a job to finish. Beyond these limits a query is answered at once.
  std::size_t watchers_max = 4'096;
  std::size_t watched_jobs_max = 1u << 18;  // of all watchers together, about 30 MB

  // Workers.
  std::size_t sessions_max = 4'096;
  std::size_t devices_max = 64;      // of one worker
  std::uint32_t credit_max = 1'024;  // of one worker
  // Jobs leased in one turn. A turn that could lease more asks to be woken at once. A worker with much credit should
  // have about twice this many jobs, so that it works on one half while the broker hands out the other half.
  std::size_t leases_per_step_max = 128;
  std::size_t lease_batch_bytes_max = 16u << 20;  // a LeaseBatch is closed once its blobs are as long as this

  // Prebuilding (jobs/prebuild.h).
  std::int64_t build_limit_ms = 900'000;        // time limit of a build; heartbeats do not prolong it
  std::int64_t build_search_interval_ms = 100;  // between two searches for jobs to build
  std::size_t builds_ahead_max = 256;           // jobs of a lane, from its head, that are built before they are leased
  std::size_t artifacts_max = 4'096;            // of unfinished jobs: built, or being built
  std::size_t artifacts_bytes_max = 1u << 30;
  std::size_t failed_builds_max = 65'536;  // maximum number of jobs remembered as 'prebuild failed'
};

}  // namespace kq::broker
