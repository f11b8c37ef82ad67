// Waits until jobs are finished, and reports the progress.
//
// The client first asks about every job once. After that it asks about the first kQuerySeqsMax unfinished jobs with a
// query that the broker answers when one of them is finished. A list may have a million jobs: the others are asked
// about in turn, a few messages between two such queries, and each job takes kBytesPerJob bytes of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/client/client.h"

namespace kq::producer {

// A job to wait for. Its requirements are shown to people while no worker can run the job.
struct WaitedJob {
  Sequence seq = 0;
  Requirements needs{};
};

// Returns the requirements of a job as text: "a cuda device", "a NVIDIA H200", "any device", "a worker labelled big,
// lab with a cuda device".
std::string needs_text(const Requirements& needs);

inline constexpr std::string_view kPausedText = "paused";      // the queue, or the submitter of the jobs, is paused
inline constexpr std::string_view kDrainingText = "draining";  // so is every worker that can run the jobs

// The number of jobs in each state. A job that was added twice counts twice.
struct Tally {
  std::size_t total = 0;
  std::size_t queued = 0;
  std::size_t running = 0;  // leased to a worker
  std::size_t finished = 0;
  std::size_t building = 0;           // of the queued and running jobs, those of which a build is in progress
  std::int64_t build_started_ms = 0;  // the Unix time at which the longest of these builds began; 0: none
  std::map<std::string, std::size_t> by_verdict;  // finished jobs by the name of the verdict
  // Queued jobs that no worker takes: by needs_text() where none can run them, else by kPausedText or kDrainingText.
  std::map<std::string, std::size_t> unserved;

  std::size_t passed() const;
  std::size_t abandoned() const;
  std::size_t failed() const { return finished - passed() - abandoned(); }
};

// The jobs of a wait and their last known states.
class WaitList {
 public:
  // The last known state of a job. Jobs from `served` to `draining` are queued; a worker takes the former.
  enum class Standing : std::uint8_t { unknown, served, unserved, paused, draining, running, finished };
  struct Job {
    Sequence seq = 0;
    std::uint32_t times = 1;  // how many times the job was added
    std::uint16_t needs = 0;  // the index of its requirements in needs_
    Standing standing = Standing::unknown;
    std::uint8_t verdict = 0;  // for a finished job, the index of its verdict in verdicts_
  };

  void add(const WaitedJob& job);
  // Stores the state of a job. A job that was not added is ignored.
  void update(const JobStatus& status);

  // Returns the jobs without repetition, sorted by sequence.
  const std::vector<Job>& jobs();
  const Job* find(Sequence seq);
  const std::string& verdict_of(const Job& job) const { return verdicts_[job.verdict]; }
  const Tally& tally() const { return tally_; }
  std::size_t open_count() const { return open_count_; }  // unfinished jobs without repetition

 private:
  static Standing queued_standing(const JobStatus& status);
  void sort_jobs();
  std::vector<Job>::iterator place_of(Sequence seq);
  void count(const Job& job, bool in);
  void note_build(const JobStatus& status);

  std::vector<Job> jobs_;
  bool is_sorted_ = true;           // whether jobs_ is sorted, free of repetitions, and counted in tally_
  std::vector<std::string> needs_;  // the different requirements of the jobs as texts
  std::vector<std::string> verdicts_;
  std::map<Sequence, std::int64_t> builds_;  // the Unix times at which the builds in progress began
  Tally tally_;
  std::size_t open_count_ = 0;
};
inline constexpr std::size_t kBytesPerJob = sizeof(WaitList::Job);
static_assert(kBytesPerJob == 16);

struct WaitOptions {
  std::optional<std::int64_t> timeout_ms;      // the limit of the whole wait; without a value it is unlimited
  std::function<std::int64_t()> now_ms;        // a monotonic clock
  std::function<void(std::int64_t)> sleep_ms;  // may return early because of a signal
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const Tally&)> progress = [](const Tally&) {};  // called after each reply
};
// Returns options with the real clock and sleep, without a timeout and without progress.
WaitOptions real_wait_options();

enum class WaitEnd { finished, timed_out, interrupted };

struct WaitOutcome {
  WaitEnd end = WaitEnd::finished;
  WaitList jobs;  // with the last known states
  const Tally& tally() const { return jobs.tally(); }
};

// Waits until every job is finished, or the time is over, or the wait is interrupted. Fails where the broker does not
// reply for kSilenceMs or does not know a job.
Expected<WaitOutcome> wait_for(Client& client, WaitList jobs, const WaitOptions& options);

// The time for which the broker may delay the reply to a query. It is also the greatest age of the shown progress.
inline constexpr std::uint32_t kAnswerWaitMs = 2'000;
// The pause between two queries is kPollMsMin and kPollUsPerJob for each job of the query. It grows to kPollMsMax where
// the broker does not delay its replies.
inline constexpr std::int64_t kPollMsMin = 20;
inline constexpr std::int64_t kPollUsPerJob = 200;
inline constexpr std::int64_t kPollMsMax = 1'000;
// Messages about jobs behind the first kQuerySeqsMax unfinished ones, between two queries about those.
inline constexpr std::size_t kSweptPerQuery = 4;
inline constexpr std::int64_t kSilenceMs = 60'000;  // longer than a restart of the broker takes

// Returns the exit code of a wait: gave_up or interrupted as `end` says; otherwise our_fault when a job was abandoned,
// job_failed when any verdict is not `passed`, and ok when all are.
ExitCode exit_code_of(const WaitOutcome& outcome);

}  // namespace kq::producer
