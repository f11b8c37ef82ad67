// Waiting for jobs to finish: polls the broker for the unfinished ones and tells a sink how far they are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/messages.h"
#include "producer/client.h"

namespace kq {

// A job to wait for. The needs are for people only: they name what is missing while no worker serves the job.
struct WaitedJob {
  Sequence seq = 0;
  Requirements needs{};
};

// "a cuda device", "a NVIDIA H200", "any device", "a worker labelled big, lab with a cuda device": what a job needs to run.
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

struct WaitOptions {
  std::optional<std::int64_t> timeout_ms;      // of the whole wait; nothing: for ever
  std::function<std::int64_t()> now_ms;        // monotonic
  std::function<void(std::int64_t)> sleep_ms;  // may return early, on a signal
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const Tally&)> progress = [](const Tally&) {};  // after each poll
};
// The real clock and sleep; no timeout, no progress.
WaitOptions real_wait_options();

enum class WaitEnd { finished, timed_out, interrupted };

struct WaitOutcome {
  WaitEnd end = WaitEnd::finished;
  std::vector<JobStatus> jobs;  // as last heard, one per job asked for, in that order
  Tally tally;
};

// Returns when every job is finished, or earlier as `end` says. An Error: the broker stayed silent for kSilenceMs, or
// has lost a job.
Expected<WaitOutcome> wait_for(Client& client, std::span<const WaitedJob> jobs, const WaitOptions& options);

inline constexpr std::int64_t kPollMsMin = 100;
inline constexpr std::int64_t kPollMsMax = 1'000;
inline constexpr std::int64_t kSilenceMs = 60'000;  // outlives a restart of the broker

// What a finished wait means for the exit code: gave_up or interrupted as `end` says; else our_fault when a job was
// abandoned, job_failed when any verdict is not `passed`, ok otherwise.
ExitCode exit_code_of(const WaitOutcome& outcome);

}  // namespace kq
