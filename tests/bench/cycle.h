// Measures whole cycles of many jobs on any queue: producers put jobs while consumers take and finish them. Counts jobs
// that the queue lost or delivered twice.
#pragma once

#include <cstdint>

#include "tests/bench/bodies.h"
#include "tests/bench/measure.h"
#include "tests/bench/peer.h"

namespace kq::bench {

// The load of one run.
struct Shape {
  std::size_t producer_count = 1;  // connections with one thread each; 0: the run only takes jobs
  std::size_t consumer_count = 1;  // connections with one thread each; 0: the run only puts jobs
  std::size_t batch = 1;           // jobs in one message or write
  std::size_t in_flight = 1;       // unacknowledged messages of one producer
  std::size_t at_once = 1;         // jobs a consumer takes in one round
  std::uint64_t first_number = 0;  // jobs with smaller numbers are queued already and are taken first
  std::uint64_t job_count = 0;     // jobs that the run puts, and jobs that it takes and finishes
};

// The figures of one run.
struct Outcome {
  double seconds = 0;          // from the first put to the last finish; without consumers, to the last acknowledgement
  Latencies put;               // from put to acknowledgement, per job
  Latencies life;              // from put until a consumer has the job; only jobs that this run put
  std::uint64_t doubled = 0;   // deliveries of a job that was delivered before
  std::uint64_t lost = 0;      // finished jobs less the different jobs that consumers took
  double producer_cpu_us = 0;  // processor time of the producers' threads per job
  double consumer_cpu_us = 0;  // processor time of the consumers' threads per job
  double process_cpu_us = 0;   // processor time of all threads per job, threads of client libraries included
};

// Runs the load and returns its figures. Gives up when no job makes progress for a minute.
Outcome run_cycle(Peer& peer, const Bodies& bodies, const Shape& shape);

}  // namespace kq::bench
