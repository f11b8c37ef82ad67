// The whole life of many jobs: producers put them, consumers take and finish them, all at once; nothing may be lost or
// come twice.
#pragma once

#include <cstdint>

#include "tests/bench/bodies.h"
#include "tests/bench/measure.h"
#include "tests/bench/peer.h"

namespace kq::bench {

struct Shape {
  std::size_t producers_n = 1;     // connections, a thread each; 0: only take
  std::size_t consumers_n = 1;     // likewise; 0: only put
  std::size_t batch = 1;           // jobs in one message or write
  std::size_t in_flight = 1;       // such messages without an acknowledgement
  std::size_t at_once = 1;         // jobs a consumer takes in one round
  std::uint64_t first_number = 0;  // jobs before it are in the queue already, and come out first
  std::uint64_t jobs_n = 0;        // put, and taken and finished
};

struct Outcome {
  double seconds = 0;  // from the first put to the last job finished, or acknowledged where nobody takes
  Latencies put;       // from put to acknowledgement
  Latencies life;      // from put to a consumer that has it; only of jobs put in this run
  std::uint64_t doubled = 0;
  std::uint64_t lost = 0;      // acknowledged or there before, and never came out, though as many as were asked for did
  double producer_cpu_us = 0;  // per job, of the producers' threads
  double consumer_cpu_us = 0;
  double process_cpu_us = 0;  // per job, all threads: with the two above it tells what the library's own threads take
};

// Gives up when nothing happens for a minute.
Outcome run_cycle(Peer& peer, const Bodies& bodies, const Shape& shape);

}  // namespace kq::bench
