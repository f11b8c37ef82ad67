// Every number that bounds the broker, by name. The defaults are what kq-broker runs with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/tables/queue_lane.h"
#include "core/limits.h"

namespace kq::broker {

struct BrokerOptions {
  std::uint32_t lease_ms = 30'000;            // a lease not renewed for this long is over
  std::uint32_t heartbeat_ms = 5'000;         // workers are told to send one this often
  std::uint32_t attempts_max = kAttemptsMax;  // failures of ours before a job ends as `abandoned`
  std::uint32_t heartbeats_missed_max = 2;    // heartbeats in a row that may leave a lease out
  std::uint32_t rest_ms_min = 1'000;          // a worker that fails rests, twice as long after each failure in a row,
  std::uint32_t rest_ms_max = 30'000;         // so that one broken worker cannot use up the attempts of a whole queue
  std::uint32_t retry_ms_min = 1'000;         // a job pauses after a failure of ours, twice as long after each
  std::uint32_t retry_ms_max = 60'000;
  std::uint64_t unfinished_jobs_max =
      20'000'000;  // queued and leased together; beyond it submissions are answered `busy`
  std::uint64_t unfinished_bytes_max = 100ull << 30;  // of them and their files
  std::uint64_t submitter_jobs_max = 10'000'000;      // the same of one submitter
  std::uint64_t submitter_bytes_max = 50ull << 30;
  std::uint32_t busy_retry_ms = 1'000;     // when whoever was answered `busy` should try again
  std::size_t classes_max = 1'024;         // different requirements in use; each costs time at every lease
  std::size_t submitter_classes_max = 64;  // of them in use by one submitter's jobs, so that nobody takes them all
  std::size_t submitters_max = 65'536;
  LaneWindow lane_window{};                 // of each lane in RAM
  std::size_t queued_kept = 1u << 14;       // records of queued jobs in RAM, some 30 MB; others are read when needed
  std::size_t board_places_kept = 4'096;    // in RAM: what a result must beat; others are read when needed
  std::size_t timers_per_step_max = 1'024;  // fired in one Tick, which wakes again for the rest
  bool notes_per_job = false;               // for a log level that shows them: they cost as much as the rest of a step
  std::size_t refills_per_step_max = 16;    // lanes filled up from the store in one Tick
  std::int64_t keep_ms = 0;     // a finished job that nobody asked for again is removed after this; 0: never
  std::uint64_t keep_jobs = 0;  // finished jobs that are older than this many jobs are removed; 0: none
  std::int64_t keep_ms_min =
      3'600'000;  // but none before this (or keep_ms, if that is less): whoever waits for it is to see its result
  std::int64_t retention_rest_ms = 60'000;  // between two walks over the finished jobs,
  std::int64_t retention_gap_ms = 10;       // and between two steps of one, each of some milliseconds:
  std::size_t jobs_removed_per_step_max = 128;
  std::size_t records_read_per_step_max = 512;
  std::size_t files_read_per_step_max = 64;  // with their bytes
  std::int64_t files_rest_ms = 21'600'000;  // files that no job names any more go this long after the last did, or once
                                            // the jobs removed since are a quarter of those that remain
  std::size_t watchers_max = 4'096;  // questions that wait for a job to finish; beyond it they are answered at once,
  std::size_t watched_jobs_max = 1u << 18;  // as beyond so many jobs that they name together, some 30 MB
  std::size_t sessions_max = 4'096;
  std::size_t devices_max = 64;           // of one worker
  std::uint32_t credit_max = 1'024;       // of one worker
  std::int64_t build_limit_ms = 900'000;  // of a build that a worker makes for others: heartbeats do not prolong it
  std::int64_t builds_look_ms = 100;      // between looks for jobs to build
  std::size_t builds_ahead_max = 256;     // jobs of a lane, from its head, that are built before they are leased
  std::size_t objects_max = 4'096;        // of unfinished jobs: kept, or being built
  std::size_t objects_bytes_max = 1u << 30;
  std::size_t builds_declined_max = 65'536;  // jobs remembered of whose build nothing came
  // A Tick that could lease more asks to be woken at once. Beside a queue a worker with much credit has twice as many
  // jobs on their way, so that it works on one half while the broker hands out the other: with 256 they took turns, at
  // two thirds of the rate.
  std::size_t leases_per_step_max = 128;
  std::size_t lease_batch_bytes_max = 16u << 20;  // one LeaseBatch is closed once its blobs are as long as this
};

}  // namespace kq::broker
