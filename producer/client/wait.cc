#include "producer/client/wait.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "sys/clock.h"

namespace kq::producer {
namespace {

// Asks the broker about the jobs of one wait until the wait ends.
class Waiter {
 public:
  Waiter(Client& client, WaitList jobs, const WaitOptions& options)
      : client_(client), options_(options), start_ms_(options.now_ms()), outcome_{WaitEnd::finished, std::move(jobs)} {}

  Expected<WaitOutcome> run() {
    if (list().jobs().empty()) return end(WaitEnd::finished);
    std::int64_t pause_ms = kPollMsMin;
    for (bool is_first = true;; is_first = false) {
      const std::int64_t asked_ms = options_.now_ms();
      const std::size_t open_before = list().open_count();
      const Expected<void> asked = is_first ? ask_all() : ask_again();
      if (!asked && asked.error().kind == ErrorKind::interrupted) return end(WaitEnd::interrupted);
      if (!asked && remaining_ms() <= 0) return end(WaitEnd::timed_out);
      if (!asked) return failure(asked.error());
      options_.progress(list().tally());
      if (list().open_count() == 0) return end(WaitEnd::finished);
      if (options_.interrupted()) return end(WaitEnd::interrupted);
      if (remaining_ms() <= 0) return end(WaitEnd::timed_out);
      // The pause is short after a change. Without a change it grows, because the broker did not delay its reply.
      const bool has_news = list().open_count() < open_before;
      const auto asked_count = static_cast<std::int64_t>(std::min(list().open_count(), kQuerySeqsMax));
      pause_ms = is_first || has_news ? kPollMsMin + asked_count * kPollUsPerJob / 1'000
                                      : std::min(pause_ms * 3 / 2, kPollMsMax);
      const std::int64_t waited_ms = has_news ? 0 : options_.now_ms() - asked_ms;
      if (!is_first && pause_ms > waited_ms) options_.sleep_ms(std::min(pause_ms - waited_ms, remaining_ms()));
    }
  }

 private:
  WaitList& list() { return outcome_.jobs; }

  Expected<WaitOutcome> end(WaitEnd end) {
    outcome_.end = end;
    return std::move(outcome_);
  }

  std::int64_t remaining_ms() const {
    if (!options_.timeout_ms) return kSilenceMs;
    return start_ms_ + *options_.timeout_ms - options_.now_ms();
  }

  Expected<void> ask_all() {
    for (std::size_t at = 0; at < list().jobs().size();) {
      if (const auto asked = ask(next(at), 0); !asked) return asked;
    }
    return {};
  }

  Expected<void> ask_again() {
    while (first_ < list().jobs().size() && is_finished(first_)) ++first_;
    std::size_t at = first_;
    if (const auto asked = ask(next(at), kAnswerWaitMs); !asked) return asked;
    for (std::size_t i = 0; i < kSweptPerQuery && list().open_count() > kQuerySeqsMax; ++i) {
      swept_ = std::max(swept_, at);
      const std::vector<Sequence> asked = next(swept_);
      if (swept_ >= list().jobs().size()) swept_ = 0;
      if (const auto answered = ask(asked, 0); !answered) return answered;
    }
    return {};
  }

  bool is_finished(std::size_t at) { return list().jobs()[at].standing == WaitList::Standing::finished; }

  // Returns the unfinished jobs from index `at` on that fit into one query, and moves `at` behind them.
  std::vector<Sequence> next(std::size_t& at) {
    std::vector<Sequence> open;
    for (; at < list().jobs().size() && open.size() < kQuerySeqsMax; ++at) {
      if (!is_finished(at)) open.push_back(list().jobs()[at].seq);
    }
    return open;
  }

  Expected<void> ask(const std::vector<Sequence>& asked, std::uint32_t wait_ms) {
    if (asked.empty()) return {};
    const std::int64_t patience_ms = std::max<std::int64_t>(1, std::min(remaining_ms(), kSilenceMs));
    const StatusQuery query{.seqs = asked,
                            .wait_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(wait_ms, patience_ms))};
    KQ_TRY_VALUE(const auto reply, client_.ask_for<StatusReply>(query, patience_ms));
    for (const JobStatus& status : reply.jobs) list().update(status);
    for (const Sequence seq : asked) {
      if (list().find(seq)->standing == WaitList::Standing::unknown) {
        return our_fault("broker " + client_.url() + " does not know job " + std::to_string(seq) +
                         "; its retention removed it, or its store was replaced");
      }
    }
    return {};
  }

  Client& client_;
  const WaitOptions& options_;
  std::int64_t start_ms_;
  WaitOutcome outcome_;
  std::size_t first_ = 0;  // the index before which all jobs are finished
  std::size_t swept_ = 0;  // the index at which the next query about the other jobs starts
};

// Returns the index of a text in the list, to which it is added where it is new. A full list is not extended: its last
// element then stands for every further text.
std::size_t place_in(std::vector<std::string>& texts, const std::string& text, std::size_t texts_max) {
  const auto found = std::find(texts.begin(), texts.end(), text);
  if (found != texts.end()) return static_cast<std::size_t>(found - texts.begin());
  if (texts.size() >= texts_max) return texts.size() - 1;
  texts.push_back(text);
  return texts.size() - 1;
}

std::size_t count_of(const Tally& tally, VerdictName name) {
  const auto found = tally.by_verdict.find(std::string(to_string(name)));
  return found == tally.by_verdict.end() ? 0 : found->second;
}

}  // namespace

std::string needs_text(const Requirements& needs) {
  std::string device = "a " + std::string(to_string(needs.wish)) + " device";
  if (needs.wish == DeviceWish::any) device = "any device";
  if (!needs.gpu_model.empty()) device = "a " + needs.gpu_model;
  if (needs.device_count > 1) {
    const std::string kind = needs.wish == DeviceWish::any ? "" : std::string(to_string(needs.wish)) + " ";
    device = "a lane of " + std::to_string(needs.device_count) + " " +
             (needs.gpu_model.empty() ? kind + "devices" : needs.gpu_model);
  }
  if (needs.memory_above_bytes != 0)
    device += " with more than " + std::to_string(needs.memory_above_bytes >> 20) + " MiB";
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

void WaitList::add(const WaitedJob& job) {
  constexpr std::size_t kNeedsMax = 1u << 16;
  jobs_.push_back(
      {.seq = job.seq, .needs = static_cast<std::uint16_t>(place_in(needs_, needs_text(job.needs), kNeedsMax))});
  is_sorted_ = false;
}

// Sorts the jobs, so that a job can be found without an index, which would need more memory than the jobs.
void WaitList::sort_jobs() {
  if (is_sorted_) return;
  is_sorted_ = true;
  const auto by_sequence = [](const Job& a, const Job& b) { return a.seq < b.seq; };
  if (!std::is_sorted(jobs_.begin(), jobs_.end(), by_sequence))
    std::stable_sort(jobs_.begin(), jobs_.end(), by_sequence);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (kept > 0 && jobs_[kept - 1].seq == jobs_[i].seq) {
      jobs_[kept - 1].times += jobs_[i].times;
    } else {
      jobs_[kept++] = jobs_[i];
    }
  }
  jobs_.resize(kept);
  tally_ = Tally();
  open_count_ = 0;
  for (const Job& job : jobs_) count(job, true);
}

const std::vector<WaitList::Job>& WaitList::jobs() {
  sort_jobs();
  return jobs_;
}

std::vector<WaitList::Job>::iterator WaitList::place_of(Sequence seq) {
  sort_jobs();
  const auto at = std::lower_bound(jobs_.begin(), jobs_.end(), seq,
                                   [](const Job& job, Sequence wanted) { return job.seq < wanted; });
  return at != jobs_.end() && at->seq == seq ? at : jobs_.end();
}

const WaitList::Job* WaitList::find(Sequence seq) {
  const auto at = place_of(seq);
  return at == jobs_.end() ? nullptr : &*at;
}

WaitList::Standing WaitList::queued_standing(const JobStatus& status) {
  if (status.why == WaitReason::paused) return Standing::paused;
  if (!status.served) return Standing::unserved;
  return status.why == WaitReason::draining ? Standing::draining : Standing::served;
}

void WaitList::update(const JobStatus& status) {
  constexpr std::size_t kVerdictsMax = 1u << 8;
  const auto job = place_of(status.seq);
  if (job == jobs_.end()) return;
  count(*job, false);
  switch (status.state) {
    case JobState::queued:
      job->standing = queued_standing(status);
      break;
    case JobState::leased:
      job->standing = Standing::running;
      break;
    case JobState::finished:
      job->standing = Standing::finished;
      job->verdict = static_cast<std::uint8_t>(place_in(verdicts_, status.verdict, kVerdictsMax));
      break;
  }
  count(*job, true);
  note_build(status);
}

void WaitList::note_build(const JobStatus& status) {
  const bool is_built = status.build_started_ms != 0 && status.state != JobState::finished;
  if (!is_built && builds_.erase(status.seq) == 0) return;
  if (is_built) builds_[status.seq] = status.build_started_ms;
  tally_.building = builds_.size();
  const auto first = std::ranges::min_element(builds_, {}, [](const auto& build) { return build.second; });
  tally_.build_started_ms = first == builds_.end() ? 0 : first->second;
}

// Adds the job to the tally, or removes it.
void WaitList::count(const Job& job, bool in) {
  const auto change = [&](std::size_t& n) { in ? n += job.times : n -= job.times; };
  const auto change_of = [&](std::map<std::string, std::size_t>& counts, const std::string& name) {
    std::size_t& n = counts[name];
    change(n);
    if (n == 0) counts.erase(name);
  };
  change(tally_.total);
  if (job.standing != Standing::finished) open_count_ += in ? 1 : -std::size_t{1};
  switch (job.standing) {
    case Standing::unserved:
      change_of(tally_.unserved, needs_[job.needs]);
      change(tally_.queued);
      break;
    case Standing::paused:
      change_of(tally_.unserved, std::string(kPausedText));
      change(tally_.queued);
      break;
    case Standing::draining:
      change_of(tally_.unserved, std::string(kDrainingText));
      change(tally_.queued);
      break;
    case Standing::unknown:
    case Standing::served:
      change(tally_.queued);
      break;
    case Standing::running:
      change(tally_.running);
      break;
    case Standing::finished:
      change(tally_.finished);
      change_of(tally_.by_verdict, verdicts_[job.verdict]);
      break;
  }
}

WaitOptions real_wait_options() {
  WaitOptions options;
  options.now_ms = sys::monotonic_now_ms;
  options.sleep_ms = [](std::int64_t ms) {
    poll(nullptr, 0, static_cast<int>(ms));
  };  // a signal ends it, unlike sleep_for
  return options;
}

Expected<WaitOutcome> wait_for(Client& client, WaitList jobs, const WaitOptions& options) {
  return Waiter(client, std::move(jobs), options).run();
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
  if (outcome.tally().abandoned() > 0) return ExitCode::our_fault;
  return outcome.tally().passed() == outcome.tally().total ? ExitCode::ok : ExitCode::job_failed;
}

}  // namespace kq::producer
