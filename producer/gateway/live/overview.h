// What the live page shows: the queue, workers, runs with their progress, and the newest failures.
//
// Theory of operation. All pages of one viewer share a view, which is made anew when a page asks and the last one is
// kOverviewAgeMs old; without a page nothing is read. A refresh asks the broker a few questions and reads the rows of
// runs for at most kReadingMs; the counts of a long run are complete after some refreshes. Everything in the text is
// bounded, however many workers and jobs there are: lists hold the first rows, and figures count the rest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/gateway/http.h"
#include "producer/gateway/live/run_watch.h"
#include "producer/gateway/live/running_jobs.h"

namespace kq::gateway {

class Service;

inline constexpr std::int64_t kOverviewAgeMs = 500;
inline constexpr std::int64_t kReadingMs = 150;          // of one refresh, for rows of runs
inline constexpr std::int64_t kSearchReadingMs = 500;    // of one search
inline constexpr std::int64_t kReadingShare = 20;        // a run is read again after this many times its last reading
inline constexpr std::int64_t kReadingPauseMs = 10'000;  // and not before this time
inline constexpr std::int64_t kRunListAgeMs = 5'000;
inline constexpr std::size_t kRunPagesMax = 40;      // pages of the list of runs
inline constexpr std::size_t kShownRunsMax = 30;     // the newest runs, and those that run now
inline constexpr std::size_t kAskedRunsMax = 10;     // further runs that a page asked about
inline constexpr std::int64_t kAskedRunMs = 60'000;  // for which they are kept after the last question
inline constexpr std::size_t kShownWorkersMax = 50;
inline constexpr std::size_t kShownLanesMax = 50;
inline constexpr std::size_t kShownFailuresMax = 50;
inline constexpr std::size_t kRowsFetchedMax = 8;  // rows of newly finished jobs in one refresh
inline constexpr std::size_t kViewsMax = 32;       // submitters whose views are kept
inline constexpr std::size_t kKnownDevicesMax = 8'192;
inline constexpr std::size_t kSearchedJobsMax = 100;  // that one search returns
inline constexpr std::int64_t kSilentMs = 15'000;     // a worker that was silent for longer is shown as silent

// A job that ended in a failure, as the list of failures shows it.
struct FailedJob {
  Sequence seq = 0;
  VerdictName verdict = VerdictName::abandoned;
  std::string reason = {};
  std::string message = {};
  std::string device = {};
  std::int64_t finished_at_ms = 0;
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

// The overview of one viewer.
class View {
 public:
  explicit View(Submitter viewer) : viewer_(std::move(viewer)) {}

  // Returns the present overview as the members of a JSON object, without braces.
  Expected<std::string> text(Service& service);
  // Returns a page of workers whose names or devices hold `text`, after the worker `after`, as JSON.
  Expected<producer::Json> workers(Service& service, const std::string& text, const std::string& after,
                                   std::size_t limit);
  // Searches one run, or all shown runs where `run` is empty. Fails with not_found for a run that does not exist.
  Expected<FoundJobs> find(Service& service, const std::string& run, const JobFilter& filter);

 private:
  struct Watched {
    RunWatch watch;
    std::string submitter = {};
    std::int64_t submitted_at_ms = 0;
    std::int64_t reading_began_ms = 0;
    std::int64_t reading_ms = 0;  // the time that the reading that goes on has taken so far
    std::int64_t last_reading_ms = 0;
    std::int64_t read_at_ms = 0;   // when the last reading ended
    std::int64_t asked_at_ms = 0;  // when a search named the run last
    bool is_shown = false;         // whether the overview lists the run
  };

  Expected<void> refresh(Service& service);
  Expected<void> refresh_run_list(Service& service, std::int64_t now_ms);
  Expected<void> refresh_runs(Service& service);
  Expected<void> read_rows(Service& service, Watched& one, std::int64_t end_ms);
  void fetch_finished(Service& service, Watched& one, std::size_t& left);
  void forget_runs(std::int64_t now_ms);
  void learn(const std::string& run, const RunRow& row);
  Watched& watched(const KnownRun& run);
  producer::Json run_json(const Watched& one) const;
  producer::Json worker_json(const WorkerStatus& worker, std::int64_t now_ms) const;
  producer::Json workers_json(const BrokerReply& broker, std::int64_t now_ms) const;
  producer::Json failures_json() const;

  const Submitter viewer_;
  std::mutex mutex_;
  std::string text_;
  std::int64_t refreshed_ms_ = 0;
  std::int64_t listed_ms_ = 0;
  std::size_t run_count_ = 0;
  bool has_more_runs_ = false;
  std::map<std::string, Watched> runs_;
  RunningJobs running_;
  std::map<std::pair<std::string, std::string>, FailedJob> failures_;      // by run and label
  std::map<std::string, std::pair<std::int64_t, Conditions>> conditions_;  // by the UUID of a GPU: when, and what
};

// The views of all viewers.
class Overviews {
 public:
  // Returns the view of a viewer. It stays valid while the caller holds it.
  std::shared_ptr<View> of(const Submitter& viewer, std::int64_t now_ms);

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::int64_t, std::shared_ptr<View>>> views_;  // by submitter: last use, view
};

}  // namespace kq::gateway
