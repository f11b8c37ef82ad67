#include "producer/submit.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "producer/formats/formats.h"
#include "producer/sentences.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

// "sweeps/monday/" and "sweeps/monday/submissions.jsonl" are the run "monday", "add.py" is "add".
std::string run_name_of(const fs::path& input) {
  std::error_code wrong;
  fs::path path = fs::absolute(input, wrong).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (fs::is_directory(path, wrong)) return path.filename().string();
  if (path.filename() == "submissions.jsonl") return path.parent_path().filename().string();
  return path.stem().string();
}

void choose_run(const SubmitRequest& request, Prepared& prepared) {
  prepared.run = request.run;
  if (prepared.run.empty() && !request.inputs.empty()) prepared.run = run_name_of(request.inputs.front());
  if (const auto wrong = name_complaint(prepared.run)) {
    prepared.mistakes.push_back("the run's name '" + prepared.run + "' " + *wrong + "; say --run NAME");
  }
}

std::vector<Candidate> gather(const SubmitRequest& request, Prepared& prepared) {
  std::vector<Candidate> candidates;
  for (const fs::path& input : request.inputs) {
    Found found = find_candidates(input, request.options);
    std::move(found.candidates.begin(), found.candidates.end(), std::back_inserter(candidates));
    std::move(found.mistakes.begin(), found.mistakes.end(), std::back_inserter(prepared.mistakes));
  }
  return candidates;
}

// A label stands for one job of its run, so a second one would take the first one's place unseen.
void refuse_same_labels(std::vector<Candidate>& candidates, std::uint32_t repeat, Prepared& prepared) {
  std::unordered_map<std::string, std::string> places;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    for (std::uint32_t repetition = 1; repetition <= repeat; ++repetition) {
      const std::string label = repeated_label(candidate.label, repetition);
      const auto [first, is_new] = places.try_emplace(label, candidate.where);
      if (is_new) continue;
      prepared.mistakes.push_back(candidate.where + ": the label '" + label + "' is taken by " + first->second +
                                  "; labels must differ within a run");
      return true;
    }
    return false;
  });
}

// What went wrong after `done` of `total` jobs, and that the rest is not lost with it.
Error stopped_after(Error error, std::size_t done, std::size_t total) {
  if (done > 0) {
    error.message += "; " + std::to_string(done) + " of " + counted(total, "job") +
                     " were answered before, submit again to go on, nothing runs twice";
  }
  return error;
}

Error not_all_acknowledged(const Client& client, std::size_t jobs, std::size_t acks) {
  return {ExitCode::our_fault, "broker " + client.url() + " answered " + std::to_string(jobs) + " jobs with " +
                                   std::to_string(acks) + " acknowledgements"};
}

// The acknowledgements of one batch; `error` says why the busy ones among them were not sent again.
struct BatchEnd {
  std::vector<JobAck> acks;
  std::optional<Error> error;
};

// Sends one batch, and what of it the broker has no room for again, after longer and longer pauses.
class BatchSender {
 public:
  BatchSender(Client& client, const SubmitOptions& options) : client_(client), options_(options) {
    if (options.timeout_ms) deadline_ms_ = client.now_ms() + *options.timeout_ms;
  }

  BatchEnd send(const SubmitBatch& batch, Busy news) {
    BatchEnd end{std::vector<JobAck>(batch.jobs.size()), std::nullopt};
    std::vector<std::size_t> open(batch.jobs.size());
    std::iota(open.begin(), open.end(), 0);
    for (JobAck& ack : end.acks) ack.acceptance = Acceptance::busy;
    for (std::int64_t pause_ms = 0;;) {
      const bool whole = open.size() == batch.jobs.size();
      const Expected<SubmitAck> ack = client_.ask_for<SubmitAck>(whole ? batch : part_of(batch, open), kSubmitTimeoutMs);
      if (ack && ack->jobs.size() != open.size()) {
        end.error = not_all_acknowledged(client_, open.size(), ack->jobs.size());
      } else if (!ack) {
        end.error = ack.error();
      }
      if (end.error) return end;
      // From here on what the acknowledgements say is on the broker's disk.
      std::vector<std::size_t> still_open;
      std::int64_t asked_ms = kBusyPauseMsMin;
      for (std::size_t i = 0; i < open.size(); ++i) {
        end.acks[open[i]] = ack->jobs[i];
        if (ack->jobs[i].acceptance != Acceptance::busy) continue;
        still_open.push_back(open[i]);
        asked_ms = std::max<std::int64_t>(asked_ms, ack->jobs[i].retry_after_ms);
      }
      news.answered += open.size() - still_open.size();
      if (still_open.empty()) return end;
      const bool some_taken = still_open.size() < open.size();
      pause_ms = std::min(std::max(asked_ms, some_taken ? 0 : 2 * pause_ms), kBusyPauseMsMax);
      open = std::move(still_open);
      news.waiting = open.size();
      news.reason = end.acks[open.front()].reason;
      news.retry_ms = pause_ms;
      if (const auto waited = wait_for_room(news); !waited) {
        end.error = waited.error();
        return end;
      }
    }
  }

 private:
  Expected<void> wait_for_room(const Busy& news) {
    const std::int64_t left_ms = deadline_ms_ ? *deadline_ms_ - client_.now_ms() : news.retry_ms;
    if (left_ms <= 0) {
      return failure(Error{ExitCode::gave_up, "gave up waiting for room, broker " + client_.url() + " is busy: " + news.reason});
    }
    options_.busy(news);
    return client_.pause(std::min(left_ms, news.retry_ms));
  }

  Client& client_;
  const SubmitOptions& options_;
  std::optional<std::int64_t> deadline_ms_;
};

}  // namespace

Prepared prepare(const SubmitRequest& request) {
  Prepared prepared;
  choose_run(request, prepared);
  prepared.submitter = request.submitter;
  std::vector<Candidate> candidates = gather(request, prepared);
  if (candidates.size() * request.repeat > kSubmissionsMax) {
    prepared.mistakes.push_back(std::to_string(candidates.size() * request.repeat) + " jobs, at most " +
                                std::to_string(kSubmissionsMax) + " go into one call");
    return prepared;
  }
  refuse_same_labels(candidates, request.repeat, prepared);
  Packer packer;
  for (const Candidate& candidate : candidates) {
    const auto job = packer.pack(candidate, prepared.mistakes);
    if (!job) continue;
    for (std::uint32_t repetition = 1; repetition <= request.repeat; ++repetition) {
      prepared.jobs.push_back(repeated(*job, repetition, request.salt));
    }
  }
  return prepared;
}

std::size_t SubmitSummary::count(Acceptance acceptance) const {
  return static_cast<std::size_t>(std::count_if(
      jobs.begin(), jobs.end(), [&](const SubmittedJob& job) { return job.ack.acceptance == acceptance; }));
}

std::vector<WaitedJob> SubmitSummary::to_wait_for() const {
  std::vector<WaitedJob> waited;
  for (const SubmittedJob& job : jobs) {
    if (job.ack.seq != 0) waited.push_back({job.ack.seq, job.needs});
  }
  return waited;
}

SubmitSummary submit(Client& client, const Prepared& prepared, const SubmitOptions& options) {
  SubmitSummary summary{prepared.run, {}, std::nullopt};
  const auto stop = [&](Error error) {
    summary.stopped = stopped_after(std::move(error), summary.jobs.size(), prepared.jobs.size());
    return summary;
  };
  // A short question first: without a broker this ends soon, while a broker that is there may take its time for each
  // batch.
  if (const auto there = client.ask_for<BrokerReply>(BrokerQuery{}); !there) return stop(there.error());

  BatchSender sender(client, options);
  std::span<const PackedJob> rest = prepared.jobs;
  while (!rest.empty()) {
    Expected<SubmitBatch> batch = next_batch(prepared.run, rest);
    if (!batch) return stop(batch.error());
    batch->submitter = prepared.submitter;
    BatchEnd end = sender.send(*batch, {.waiting = 0, .answered = summary.jobs.size(), .total = prepared.jobs.size(), .reason = {}});
    for (std::size_t i = 0; i < end.acks.size(); ++i) {
      if (end.acks[i].acceptance == Acceptance::busy) continue;  // nothing was done about it
      const Submission& submission = batch->jobs[i];
      summary.jobs.push_back({submission.label, std::move(end.acks[i]), requirements_of(submission)});
    }
    if (end.error) return stop(*end.error);
    rest = rest.subspan(batch->jobs.size());
  }
  return summary;
}

std::string busy_text(const Busy& busy) {
  const std::string seconds = std::to_string(busy.retry_ms / 1000) + "." + std::to_string(busy.retry_ms / 100 % 10) + " s";
  return "broker is busy, " + std::to_string(busy.waiting) + " of " + counted(busy.total, "job") +
         (busy.waiting == 1 ? " waits" : " wait") + " for room: " + busy.reason + "; trying again in " + seconds;
}

BusyNews::BusyNews(std::function<std::int64_t()> now_ms, std::function<void(const std::string&)> say)
    : now_ms_(std::move(now_ms)), say_(std::move(say)) {}

void BusyNews::operator()(const Busy& busy) {
  if (reason_ == busy.reason && now_ms_() - said_ms_ < kBusyNewsMs) return;
  reason_ = busy.reason;
  said_ms_ = now_ms_();
  say_(busy_text(busy));
}

}  // namespace kq
