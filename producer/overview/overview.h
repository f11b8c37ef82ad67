// What there is to see of a broker: the queue, workers and what they run, runs with their progress, the newest
// failures.
//
// Theory of operation. The owner calls refresh() as often as it shows the overview; without a call nothing is read. A
// refresh asks the broker a few questions and reads the rows of runs for at most kReadingMs, so the counts of a long
// run are complete after some refreshes. Everything is bounded, however many workers and jobs there are: lists hold the
// first rows, and figures count the rest. An Overview belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/overview/run_watch.h"
#include "producer/overview/running_jobs.h"

namespace kq::producer {

class OverviewSource;

inline constexpr std::int64_t kReadingMs = 150;          // of one refresh, for rows of runs
inline constexpr std::int64_t kSearchReadingMs = 500;    // of one search
inline constexpr std::int64_t kReadingShare = 20;        // a run is read again after this many times its last reading
inline constexpr std::int64_t kReadingPauseMs = 10'000;  // and not before this time
inline constexpr std::int64_t kRunListAgeMs = 5'000;
inline constexpr std::size_t kRunPagesMax = 40;      // pages of the list of runs
inline constexpr std::size_t kShownRunsMax = 30;     // the newest runs, and those that run now
inline constexpr std::size_t kAskedRunsMax = 10;     // further runs that a search named
inline constexpr std::int64_t kAskedRunMs = 60'000;  // for which they are kept after the last search
inline constexpr std::size_t kShownLanesMax = 50;
inline constexpr std::size_t kShownFailuresMax = 50;
inline constexpr std::size_t kRowsFetchedMax = 8;  // rows of newly finished jobs in one refresh
inline constexpr std::size_t kKnownDevicesMax = 8'192;
inline constexpr std::size_t kSearchedJobsMax = 100;  // that one search returns
inline constexpr std::size_t kShownMessageMax = 300;  // bytes of a failure's message

// A job that ended in a failure, as the list of failures shows it.
struct FailedJob {
  Sequence seq = 0;
  std::string run = {};
  std::string label = {};
  VerdictName verdict = VerdictName::abandoned;
  std::string reason = {};
  std::string message = {};  // its first kShownMessageMax bytes
  std::string device = {};
  std::int64_t finished_at_ms = 0;
};

// A run with its progress.
struct ShownRun {
  std::string run = {};
  std::string submitter = {};
  std::int64_t submitted_at_ms = 0;
  bool is_counted = false;  // whether the run was read to its end, so that the counts are those of the whole run
  bool is_part = false;     // whether the run has more jobs than are counted
  WatchedCounts counts = {};
  std::optional<double> rate_per_s = std::nullopt;  // finished jobs; nothing where it is unknown

  std::size_t passed_count() const;
  std::size_t failed_count() const;
  // Returns after how many seconds the run ends at this rate, or nothing where the rate is unknown.
  std::optional<double> left_s() const;
};

// A job that a search found.
struct FoundJob {
  std::string run = {};
  WatchedJob job = {};
};

struct FoundJobs {
  std::vector<FoundJob> jobs = {};
  std::size_t total_count = 0;  // matching jobs, which may be more than are listed
  std::string next = {};        // the label after which the next page of one run begins; empty: there is none
  bool is_whole = true;         // whether every searched run was read to its end
};

struct JobFilter {
  std::string text = {};     // within the label, without regard to the case of ASCII letters
  std::string outcome = {};  // a verdict, a state, or "failed"; empty: any
  std::string after = {};    // a label
  std::size_t limit = kSearchedJobsMax;
};

// Returns the text with ASCII letters in lower case.
std::string lower(std::string_view text);

class Overview {
 public:
  // Reads the present state. After a failure the earlier state is kept in part, so the owner shows that instead.
  Expected<void> refresh(OverviewSource& source);
  // Reads only the workers and the jobs that they run.
  Expected<void> refresh_running(OverviewSource& source);

  // What the last refresh found.
  const BrokerReply& broker() const { return broker_; }
  const QueueReply& lanes() const { return lanes_; }                                          // at most kShownLanesMax
  const std::multimap<std::string, JobRow>& running() const { return running_.by_worker(); }  // by the worker's name
  // What the last job on a GPU saw of its clocks, or null where no job has told it.
  const Conditions* conditions_of(const DeviceInfo& device) const;
  // The runs that go on, then the newest, at most kShownRunsMax.
  std::vector<ShownRun> runs() const;
  std::size_t run_count() const { return run_count_; }
  bool has_more_runs() const { return has_more_runs_; }  // whether there are more runs than `run_count`
  bool is_counted() const;                               // whether every shown run was read to its end
  std::vector<FailedJob> failures() const;               // the newest first

  // Searches one run, or all shown runs where `run` is empty. Fails with not_found for a run that does not exist.
  Expected<FoundJobs> find(OverviewSource& source, const std::string& run, const JobFilter& filter);

 private:
  struct Watched {
    RunWatch watch;
    std::string submitter = {};
    std::int64_t submitted_at_ms = 0;
    std::int64_t reading_ms = 0;  // the time that the reading that goes on has taken so far
    std::int64_t last_reading_ms = 0;
    std::int64_t read_at_ms = 0;   // when the last reading ended
    std::int64_t asked_at_ms = 0;  // when a search named the run last
    bool is_shown = false;         // whether the overview lists the run

    // Returns whether the run's rows are to be read: its reading goes on, or the last one ended at least `pause_ms`
    // before, and kReadingShare times as long before as it took.
    bool is_due(std::int64_t now_ms, std::int64_t pause_ms) const;
  };

  Expected<void> refresh_run_list(OverviewSource& source, std::int64_t now_ms);
  Expected<void> refresh_runs(OverviewSource& source);
  Expected<void> read_rows(OverviewSource& source, Watched& one, std::int64_t end_ms);
  void fetch_finished(OverviewSource& source, Watched& one, std::size_t& left);
  void forget_runs(std::int64_t now_ms);
  void learn(const std::string& run, const RunRow& row);
  Watched& watched(const KnownRun& run);

  BrokerReply broker_;
  QueueReply lanes_;
  std::int64_t listed_ms_ = 0;
  std::size_t run_count_ = 0;
  bool has_more_runs_ = false;
  std::map<std::string, Watched> runs_;
  RunningJobs running_;
  std::map<std::pair<std::string, std::string>, FailedJob> failures_;      // by run and label
  std::map<std::string, std::pair<std::int64_t, Conditions>> conditions_;  // by the UUID of a GPU: when, and what
};

}  // namespace kq::producer
