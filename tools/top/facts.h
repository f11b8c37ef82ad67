// What kq-top shows of a broker at one moment, and how it is gathered.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "producer/overview/overview.h"

namespace kq::tools {

class TopSource;

inline constexpr std::int64_t kRateSpanMs = 10'000;  // the time over which finished jobs are counted for the rate
inline constexpr std::int64_t kRateLeastMs = 1'000;  // a shorter time tells no rate
inline constexpr std::size_t kRateLooksMax = 32;     // looks of which the count is kept

struct TopWorker {
  WorkerStatus status = {};
  std::string state = {};                                  // producer::state_of()
  std::vector<JobRow> jobs = {};                           // that it has leases of, the oldest lease first
  std::vector<std::optional<Conditions>> conditions = {};  // of each device, as its last job saw them
};

struct TopFacts {
  std::int64_t now_ms = 0;  // Unix time
  std::string version = {};
  bool has_keys = false;
  std::uint64_t queued = 0;
  std::uint64_t waiting = 0;                            // of the queued jobs: those that may not run yet
  std::uint64_t building = 0;                           // builds in progress
  std::uint64_t running = 0;                            // leased jobs
  std::optional<double> finished_per_s = std::nullopt;  // nothing in the first second
  std::map<std::string, std::uint64_t> finished = {};   // jobs by verdict, since the broker started
  std::vector<LaneRow> lanes = {};                      // the lane whose job is leased next comes first
  bool has_more_lanes = false;
  std::vector<TopWorker> workers = {};
  std::vector<producer::ShownRun> runs = {};
  std::size_t run_count = 0;
  bool has_more_runs = false;  // whether there are more runs than `run_count`
  std::vector<producer::FailedJob> failures = {};
};

// Looks at a broker again and again. It belongs to one thread.
class Gatherer {
 public:
  // Returns the facts of this moment. The counts of a long run are complete after some looks.
  Expected<TopFacts> look(TopSource& source);
  // Returns whether the last look knew all jobs of all listed runs.
  bool is_complete() const { return overview_.is_counted(); }

 private:
  void count_finished(const StatsReply& stats, TopFacts& facts);

  producer::Overview overview_;
  std::deque<std::pair<std::int64_t, std::uint64_t>> counts_;  // time and finished jobs, of the last looks
};

}  // namespace kq::tools
