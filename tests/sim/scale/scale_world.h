// A large world without faults of messages: many jobs, many workers, the real broker, worker core and client, and a
// real store.
//
// First clients submit every job while no worker runs, so that the queue is as long as it can be. Then the workers run
// all of them. Now and then a worker crashes, and the broker starts again when half of the jobs are done. At the end
// every job must have exactly one result and the queue must be empty. The figures are taken after each tenth of each
// phase, so that work which grows with the queue or with the finished jobs is seen.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/sim/scale/broker_machine.h"
#include "tests/sim/scale/counting_store.h"

namespace kq::sim {

inline constexpr std::uint64_t kScaleWorkersMax = 4'096;     // the broker takes no more sessions
inline constexpr std::uint64_t kScaleJobsMax = 20'000'000;   // the broker's default limit of unfinished jobs
inline constexpr std::uint64_t kScaleSubmittersMax = 1'000;  // each has a stack of 256 KiB

struct ScaleOptions {
  std::uint64_t worker_count = 1'000;
  std::uint64_t job_count = 10'000'000;
  std::uint64_t submitter_count = 10;
  std::int64_t run_ms_max = 1'500;         // of most jobs; one in twenty runs for up to 8 s
  std::uint64_t keep_jobs = 100'000;       // finished jobs that retention keeps; 0: all
  std::int64_t crash_interval_ms = 1'000;  // simulated time between two crashes of workers; 0: never
  std::uint64_t seed = 1;
};

enum class ScalePhase { fill, drain };
constexpr std::array<std::string_view, 2> enum_names(ScalePhase) {
  return {"fill", "drain"};
}

// The work of a tenth of a phase.
struct ScaleFigures {
  ScalePhase phase = ScalePhase::fill;
  std::uint64_t job_count = 0;  // jobs that were submitted or finished in this tenth
  std::uint64_t queued = 0;     // unfinished jobs at its end
  BrokerWork broker;
  StoreWork store;
  std::uint64_t memory_bytes = 0;  // of this process at its end: broker, store, workers, clients

  double per_job(std::int64_t n) const { return static_cast<double>(n) / static_cast<double>(job_count); }
};

struct ScaleOutcome {
  std::optional<std::string> violation;  // what was lost or doubled, or why the world did not end
  std::vector<ScaleFigures> tenths;
  std::uint64_t memory_begin_bytes = 0;  // before the first job was submitted
  std::int64_t recovery_ns = 0;          // processor time of the broker's second start
  std::uint64_t recovered_count = 0;     // unfinished jobs at this start
  std::uint64_t crash_count = 0;
  std::int64_t simulated_ms = 0;
};

// Runs a world in an empty store. `tell` gets the figures of each tenth as soon as they are known; it may be empty.
ScaleOutcome run_scale(const ScaleOptions& options, store::Store& store,
                       const std::function<void(const ScaleFigures&)>& tell);

// How many times the work per job of the last tenth of a phase is that of its second tenth. The first tenth is left
// out, because caches are filled and workers connect in it. `work` returns what is compared.
double growth(const ScaleOutcome& outcome, ScalePhase phase,
              const std::function<double(const ScaleFigures& tenth)>& work);

}  // namespace kq::sim
