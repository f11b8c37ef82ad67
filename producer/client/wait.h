// Waiting for jobs to finish: asks the broker to answer when one of them is, and tells a sink how far they are.
//
// There may be a million of them: a job takes kBytesPerJob here, and asking about all of them is spread over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/client/client.h"

namespace kq::producer {

// A job to wait for. The needs are for people only: they name what is missing while no worker serves the job.
struct WaitedJob {
  Sequence seq = 0;
  Requirements needs{};
};

// "a cuda device", "a NVIDIA H200", "any device", "a worker labelled big, lab with a cuda device": what a job needs to
// run.
std::string needs_text(const Requirements& needs);

// Where the jobs stand. A job asked for twice counts twice.
struct Tally {
  std::size_t total = 0;
  std::size_t queued = 0;
  std::size_t running = 0;  // leased to a worker
  std::size_t finished = 0;
  std::map<std::string, std::size_t> by_verdict;  // of the finished ones
  std::map<std::string, std::size_t> unserved;    // queued ones no worker serves, by what is missing: "a cuda device"

  std::size_t passed() const;
  std::size_t abandoned() const;
  std::size_t failed() const { return finished - passed() - abandoned(); }
};

// The jobs of a wait.
class WaitList {
 public:
  // As much as is known of a job.
  enum class Standing : std::uint8_t { unheard, served, unserved, running, finished };
  struct Job {
    Sequence seq = 0;
    std::uint32_t times = 1;  // that it was added
    std::uint16_t needs = 0;  // its place in needs()
    Standing standing = Standing::unheard;
    std::uint8_t verdict = 0;  // when finished, its place in verdicts()
  };

  void add(const WaitedJob& job);
  void hear(const JobStatus& status);  // of a job that was added

  // Sorted by sequence, each once.
  const std::vector<Job>& jobs();
  const Job* find(Sequence seq);
  const std::string& verdict_of(const Job& job) const { return verdicts_[job.verdict]; }
  const Tally& tally() const { return tally_; }
  std::size_t open_n() const { return open_n_; }  // not finished, each once

 private:
  void settle();
  std::vector<Job>::iterator place_of(Sequence seq);
  void count(const Job& job, bool in);

  std::vector<Job> jobs_;
  bool is_settled_ = true;          // sorted, each once, and counted
  std::vector<std::string> needs_;  // as texts; the few that differ
  std::vector<std::string> verdicts_;
  Tally tally_;
  std::size_t open_n_ = 0;
};
inline constexpr std::size_t kBytesPerJob = sizeof(WaitList::Job);
static_assert(kBytesPerJob == 16);

struct WaitOptions {
  std::optional<std::int64_t> timeout_ms;      // of the whole wait; nothing: for ever
  std::function<std::int64_t()> now_ms;        // monotonic
  std::function<void(std::int64_t)> sleep_ms;  // may return early, on a signal
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const Tally&)> progress = [](const Tally&) {};  // after each answer
};
// The real clock and sleep; no timeout, no progress.
WaitOptions real_wait_options();

enum class WaitEnd { finished, timed_out, interrupted };

struct WaitOutcome {
  WaitEnd end = WaitEnd::finished;
  WaitList jobs;  // as last heard
  const Tally& tally() const { return jobs.tally(); }
};

// Returns when every job is finished, or earlier as `end` says. An Error: the broker stayed silent for kSilenceMs, or
// has lost a job.
Expected<WaitOutcome> wait_for(Client& client, WaitList jobs, const WaitOptions& options);

inline constexpr std::uint32_t kAnswerWaitMs =
    2'000;  // that the broker may wait before it says that nothing is new: how old what is shown may be
inline constexpr std::int64_t kPollMsMin = 20;      // between two questions,
inline constexpr std::int64_t kPollUsPerJob = 200;  // and longer for many: each answer has all of them;
inline constexpr std::int64_t kPollMsMax = 1'000;   // as long as this where a broker does not wait before it answers
inline constexpr std::size_t kSweptPerTurn =
    4;  // messages about jobs behind the first kQuerySeqsMax, between two questions about those
inline constexpr std::int64_t kSilenceMs = 60'000;  // outlives a restart of the broker

// What a finished wait means for the exit code: gave_up or interrupted as `end` says; else our_fault when a job was
// abandoned, job_failed when any verdict is not `passed`, ok otherwise.
ExitCode exit_code_of(const WaitOutcome& outcome);

}  // namespace kq::producer
