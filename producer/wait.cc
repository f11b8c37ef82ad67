#include "producer/wait.h"

#include <poll.h>

#include <algorithm>
#include <unordered_map>

#include "core/limits.h"
#include "net/clock.h"

namespace kq {
namespace {

class Waiter {
 public:
  Waiter(Client& client, std::span<const WaitedJob> jobs, const WaitOptions& options)
      : client_(client), jobs_(jobs), options_(options), start_ms_(options.now_ms()) {
    for (const WaitedJob& job : jobs) {
      if (known_.try_emplace(job.seq).second) open_.push_back(job.seq);
    }
  }

  Expected<WaitOutcome> run() {
    std::int64_t pause_ms = kPollMsMin;
    for (;;) {
      const Expected<void> polled = poll();
      if (!polled && polled.error().code == ExitCode::interrupted) return outcome(WaitEnd::interrupted);
      if (!polled && remaining_ms() <= 0) return outcome(WaitEnd::timed_out);
      if (!polled) return failure(polled.error());
      options_.progress(tally());
      if (open_.empty()) return outcome(WaitEnd::finished);
      if (options_.interrupted()) return outcome(WaitEnd::interrupted);
      if (remaining_ms() <= 0) return outcome(WaitEnd::timed_out);
      options_.sleep_ms(std::min(pause_ms, remaining_ms()));
      pause_ms = std::min(pause_ms * 3 / 2, kPollMsMax);
    }
  }

 private:
  std::int64_t remaining_ms() const {
    if (!options_.timeout_ms) return kSilenceMs;
    return start_ms_ + *options_.timeout_ms - options_.now_ms();
  }

  // Asks about every open job and forgets those that have finished.
  Expected<void> poll() {
    std::vector<Sequence> still_open;
    for (std::size_t at = 0; at < open_.size(); at += kQuerySeqsMax) {
      const std::size_t n = std::min(kQuerySeqsMax, open_.size() - at);
      const std::vector<Sequence> asked(open_.begin() + static_cast<std::ptrdiff_t>(at),
                                        open_.begin() + static_cast<std::ptrdiff_t>(at + n));
      const std::int64_t patience_ms = std::max<std::int64_t>(1, std::min(remaining_ms(), kSilenceMs));
      const auto reply = client_.ask_for<StatusReply>(StatusQuery{asked}, patience_ms);
      if (!reply) return failure(reply.error());
      for (const JobStatus& status : reply->jobs) {
        const auto known = known_.find(status.seq);
        if (known != known_.end()) known->second = status;
      }
      for (const Sequence seq : asked) {
        const JobStatus& status = known_[seq];
        if (status.seq == 0) {
          return our_fault("broker " + client_.url() + " does not know job " + std::to_string(seq) +
                           "; its retention removed it, or its store was replaced");
        }
        if (status.state != JobState::finished) still_open.push_back(seq);
      }
    }
    open_ = std::move(still_open);
    return {};
  }

  Tally tally() const {
    Tally tally;
    tally.total = jobs_.size();
    for (const WaitedJob& job : jobs_) {
      const JobStatus& status = known_.at(job.seq);
      switch (status.state) {
        case JobState::queued:
          ++tally.queued;
          if (!status.served && status.seq != 0) ++tally.unserved[needs_text(job.needs)];
          break;
        case JobState::leased:
          ++tally.running;
          break;
        case JobState::finished:
          ++tally.finished;
          ++tally.by_verdict[status.verdict];
          break;
      }
    }
    return tally;
  }

  WaitOutcome outcome(WaitEnd end) const {
    WaitOutcome outcome{end, {}, tally()};
    for (const WaitedJob& job : jobs_) {
      outcome.jobs.push_back(known_.at(job.seq));
      outcome.jobs.back().seq = job.seq;
    }
    return outcome;
  }

  Client& client_;
  std::span<const WaitedJob> jobs_;
  const WaitOptions& options_;
  std::int64_t start_ms_;
  std::unordered_map<Sequence, JobStatus> known_;  // seq 0 inside until first heard of
  std::vector<Sequence> open_;                     // not known to be finished
};

std::size_t count_of(const Tally& tally, VerdictName name) {
  const auto found = tally.by_verdict.find(std::string(to_string(name)));
  return found == tally.by_verdict.end() ? 0 : found->second;
}

}  // namespace

std::string needs_text(const Requirements& needs) {
  std::string device = "a " + std::string(to_string(needs.wish)) + " device";
  if (needs.wish == DeviceWish::any) device = "any device";
  if (!needs.gpu_model.empty()) device = "a " + needs.gpu_model;
  if (needs.memory_above_bytes != 0) device += " with more than " + std::to_string(needs.memory_above_bytes >> 20) + " MiB";
  if (needs.labels.empty()) return device;
  std::string labels;
  for (const std::string& label : needs.labels) labels += (labels.empty() ? "" : ", ") + label;
  return "a worker labelled " + labels + " with " + device;
}

std::size_t Tally::passed() const {
  return count_of(*this, VerdictName::passed);
}
std::size_t Tally::abandoned() const {
  return count_of(*this, VerdictName::abandoned);
}

WaitOptions real_wait_options() {
  WaitOptions options;
  options.now_ms = monotonic_now_ms;
  options.sleep_ms = [](std::int64_t ms) {
    poll(nullptr, 0, static_cast<int>(ms));
  };  // a signal ends it, unlike sleep_for
  return options;
}

Expected<WaitOutcome> wait_for(Client& client, std::span<const WaitedJob> jobs, const WaitOptions& options) {
  return Waiter(client, jobs, options).run();
}

ExitCode exit_code_of(const WaitOutcome& outcome) {
  switch (outcome.end) {
    case WaitEnd::interrupted:
      return ExitCode::interrupted;
    case WaitEnd::timed_out:
      return ExitCode::gave_up;
    case WaitEnd::finished:
      break;
  }
  if (outcome.tally.abandoned() > 0) return ExitCode::our_fault;
  return outcome.tally.passed() == outcome.tally.total ? ExitCode::ok : ExitCode::job_failed;
}

}  // namespace kq
