// The states of all jobs of one run, as one viewer knows them, for counts, an estimate of the end and a search.
//
// Theory of operation. A watch reads the run once, page by page, and then asks only about jobs that were not finished,
// the lowest numbers first, because those are leased first. From time to time it reads the whole run again, which finds
// new rows and jobs that were queued again. The owner decides when, so that a run of 100,000 jobs costs the broker a
// bounded share of its time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/job.h"
#include "core/records.h"
#include "core/verdict.h"

namespace kq::producer {

class OverviewSource;

inline constexpr std::size_t kWatchedJobsMax = 200'000;  // of one run; the jobs beyond are not counted
inline constexpr std::size_t kRateTimesMax = 120;        // points from which the rate of a run is computed
inline constexpr std::int64_t kRateWindowMs = 300'000;   // the time that these points span at most
inline constexpr std::int64_t kRatePointMs = 2'000;      // between two of these points
inline constexpr std::size_t kNewlyFinishedMax = 1'000;  // jobs that a watch remembers for its owner

struct WatchedJob {
  Sequence seq = 0;
  JobState state = JobState::queued;
  VerdictName verdict = VerdictName::passed;  // of a finished job
  std::string label = {};
};

struct WatchedCounts {
  std::size_t jobs = 0;
  std::size_t queued = 0;
  std::size_t running = 0;
  std::size_t finished = 0;
  std::map<VerdictName, std::size_t> verdicts = {};
};

// Returns whether the verdict is listed among failures: every one but a right kernel, a kernel that was only built, and
// a job that was cancelled.
bool is_failure(VerdictName verdict);

class RunWatch {
 public:
  explicit RunWatch(std::string run) : run_(std::move(run)) {}

  // Reads the next page of the run. Returns the rows of the page.
  Expected<std::vector<RunRow>> read_page(OverviewSource& source);
  // Asks about the lowest unfinished jobs, in at most kQuerySeqsMax at once. Returns the number of jobs that changed.
  Expected<std::size_t> update(OverviewSource& source);

  bool is_whole() const { return is_whole_; }            // whether the run was read to its end at least once
  bool is_reading() const { return next_.has_value(); }  // whether a reading has begun and not ended
  std::size_t open_count() const { return counts_.queued + counts_.running; }
  const std::string& run() const { return run_; }
  const WatchedCounts& counts() const { return counts_; }
  // Every job in the order of labels; while the first reading lasts, those read so far.
  const std::vector<WatchedJob>& jobs() const { return is_whole_ ? jobs_ : fresh_; }
  bool has_more_jobs() const { return has_more_jobs_; }  // whether the run has more than kWatchedJobsMax
  // Jobs that update() found finished since the last call.
  std::vector<WatchedJob> take_newly_finished() { return std::exchange(newly_finished_, {}); }

  // Stores the present count for the rate.
  void mark(std::int64_t now_ms);
  // Returns how many jobs finish in a second, or nothing where the last kRateWindowMs tell nothing.
  std::optional<double> rate_per_s() const;

 private:
  void finish_reading();
  void count();

  const std::string run_;
  std::vector<WatchedJob> jobs_;
  std::vector<WatchedJob> fresh_;    // of the reading that goes on
  std::optional<std::string> next_;  // the label after which that reading continues
  std::vector<std::size_t> open_;    // indices of unfinished jobs, by sequence
  std::vector<WatchedJob> newly_finished_;
  WatchedCounts counts_;
  bool is_whole_ = false;
  bool has_more_jobs_ = false;
  std::deque<std::pair<std::int64_t, std::size_t>> points_;  // time and finished jobs
};

}  // namespace kq::producer
