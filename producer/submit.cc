#include "producer/submit.h"

#include <algorithm>
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

}  // namespace

Prepared prepare(const SubmitRequest& request) {
  Prepared prepared;
  choose_run(request, prepared);
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
    if (job.ack.acceptance != Acceptance::refused) waited.push_back({job.ack.seq, job.device, job.gpu_model});
  }
  return waited;
}

SubmitSummary submit(Client& client, const Prepared& prepared) {
  SubmitSummary summary{prepared.run, {}, std::nullopt};
  const auto stop = [&](Error error) {
    summary.stopped = stopped_after(std::move(error), summary.jobs.size(), prepared.jobs.size());
    return summary;
  };
  // A short question first: without a broker this ends soon, while a broker that is there may take its time for each
  // batch.
  if (const auto there = client.ask_for<BrokerReply>(BrokerQuery{}); !there) return stop(there.error());

  std::span<const PackedJob> rest = prepared.jobs;
  while (!rest.empty()) {
    const Expected<SubmitBatch> batch = next_batch(prepared.run, rest);
    if (!batch) return stop(batch.error());
    const Expected<SubmitAck> ack = client.ask_for<SubmitAck>(*batch, kSubmitTimeoutMs);
    if (!ack) return stop(ack.error());
    if (ack->jobs.size() != batch->jobs.size()) {
      return stop({ExitCode::our_fault, "broker " + client.url() + " answered " + std::to_string(batch->jobs.size()) +
                                            " jobs with " + std::to_string(ack->jobs.size()) + " acknowledgements"});
    }
    // From here on what the acknowledgements say is on the broker's disk.
    for (std::size_t i = 0; i < ack->jobs.size(); ++i) {
      const Submission& submission = batch->jobs[i];
      summary.jobs.push_back({submission.label, ack->jobs[i], submission.device, submission.gpu_model});
    }
    rest = rest.subspan(batch->jobs.size());
  }
  return summary;
}

}  // namespace kq
