#include "tools/ctl/why.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "core/limits.h"
#include "core/verdict.h"
#include "producer/client/sentences.h"
#include "producer/client/wait.h"
#include "producer/client/when.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/run_jobs.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

bool has_device(const WorkerStatus& worker, const Requirements& needs) {
  return std::any_of(worker.devices.begin(), worker.devices.end(),
                     [&](const DeviceInfo& device) { return serves(device, needs); });
}

bool builds(const WorkerStatus& worker, Backend backend) {
  return worker.backends.empty() ||
         std::find(worker.backends.begin(), worker.backends.end(), backend) != worker.backends.end();
}

// Returns the workers that have the device and the labels.
std::vector<WorkerStatus> capable_workers(const Requirements& needs, const std::vector<WorkerStatus>& workers) {
  std::vector<WorkerStatus> capable;
  std::copy_if(workers.begin(), workers.end(), std::back_inserter(capable), [&](const WorkerStatus& worker) {
    return has_device(worker, needs) &&
           std::includes(worker.labels.begin(), worker.labels.end(), needs.labels.begin(), needs.labels.end());
  });
  return capable;
}

std::string draining_text(const Requirements& needs, const std::vector<WorkerStatus>& workers) {
  std::vector<WorkerStatus> capable = capable_workers(needs, workers);
  std::erase_if(capable, [&](const WorkerStatus& worker) { return !builds(worker, needs.backend); });
  return "waits for a worker: " + (capable.size() == 1
                                       ? capable.front().worker + ", the only worker that can run it, is draining"
                                       : "all workers that can run it are draining");
}

// Returns which models the workers' GPUs have, where a job asks for another one.
std::string models_text(const std::string& wanted, const std::vector<WorkerStatus>& workers) {
  constexpr std::size_t kModelsShown = 3;
  std::set<std::string> models;
  for (const WorkerStatus& worker : workers) {
    for (const DeviceInfo& device : worker.devices) {
      if (device.kind == DeviceKind::cuda) models.insert(device.model);
    }
  }
  if (wanted.empty() || models.contains(wanted)) return "";
  std::string text;
  std::size_t count = 0;
  for (const std::string& model : models) {
    if (++count <= kModelsShown) text += (text.empty() ? "" : ", ") + model;
  }
  if (count > kModelsShown) text += " and " + std::to_string(count - kModelsShown) + " more";
  return text.empty() ? "" : "; the whole name of a model is needed, and there is " + text;
}

// Says what is missing for a job that no worker serves. Checks the requirements in the order in which the broker does.
std::string no_worker_text(const Requirements& needs, std::vector<WorkerStatus> workers) {
  // Workers that only build run no jobs.
  std::erase_if(workers, [](const WorkerStatus& worker) { return !worker.builds_for.empty(); });
  if (workers.empty()) return "waits for a worker: none is connected";
  if (std::none_of(workers.begin(), workers.end(),
                   [&](const WorkerStatus& worker) { return has_device(worker, needs); })) {
    Requirements device = needs;
    device.labels.clear();
    return "waits for " + producer::needs_text(device) + ": " +
           (workers.size() == 1 ? "the only worker has none"
                                : "none of the " + producer::counted(workers.size(), "worker") + " has one") +
           (needs.device_count > 1 ? "; kq worker --gpus-per-lane " + std::to_string(needs.device_count) + " makes them"
                                   : "") +
           models_text(needs.gpu_model, workers);
  }
  if (capable_workers(needs, workers).empty())
    return "waits for " + producer::needs_text(needs) + ": no worker has both the device and all labels";
  return "waits for a worker that can build " + std::string(to_string(needs.backend)) + " kernels";
}

std::string queue_position_text(const JobStatus& status) {
  std::string text = "waits for its turn: ";
  text += status.ahead == 0
              ? "it is the next job"
              : producer::counted(status.ahead, "job") + (status.ahead == 1 ? " is" : " are") + " ahead of it";
  if (status.position > 0) text += ", and it is the " + ordinal_text(status.position) + " in its queue lane";
  return text;
}

std::string waiting_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                         const Pauses& pauses, std::int64_t now_ms) {
  const std::string until = producer::when_text(status.until_ms) + ", in " + age_text(status.until_ms - now_ms);
  switch (status.why) {
    case WaitReason::behind:
      return queue_position_text(status);
    case WaitReason::no_worker:
      return no_worker_text(job.needs, workers);
    case WaitReason::not_before:
      return "may not run before " + until;
    case WaitReason::after_failure:
      return "failed " + producer::counted(job.failures, "time") + " by a fault of kq" +
             (job.last_error.empty() ? "" : " (" + job.last_error + ")") + " and is retried at " + until;
    case WaitReason::paused:
      return "waits because " + pause_text(pauses, job.submitter);
    case WaitReason::draining:
      return draining_text(job.needs, workers);
    case WaitReason::none:
      return "waits; the broker gives no reason";
  }
  return "";
}

// The builds that workers which may run a job have in progress, without the build of the job itself.
struct OtherBuilds {
  std::vector<std::string> workers{};
  std::uint64_t count = 0;
  std::int64_t started_ms = 0;  // of the longest; 0 if there is none
};

// For a leased job these are the builds of its worker, for a queued job those of all workers that may run it.
OtherBuilds other_builds(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers) {
  OtherBuilds others;
  const bool is_leased = status.state == JobState::leased;
  if (is_leased ? status.build_started_ms != 0 : status.why != WaitReason::behind) return others;
  for (const WorkerStatus& worker : is_leased ? workers : capable_workers(job.needs, workers)) {
    const bool may_run =
        is_leased ? worker.worker == status.worker : !worker.draining && builds(worker, job.needs.backend);
    if (worker.building == 0 || !may_run) continue;
    others.workers.push_back(worker.worker);
    others.count += worker.building;
    if (others.started_ms == 0 || worker.build_started_ms < others.started_ms)
      others.started_ms = worker.build_started_ms;
  }
  return others;
}

std::string other_builds_text(const OtherBuilds& others, std::int64_t now_ms) {
  if (others.count == 0) return "";
  const std::string age = age_text(now_ms - others.started_ms);
  return (others.workers.size() == 1 ? "; the worker " + others.workers.front() + " is"
                                     : "; " + std::to_string(others.workers.size()) + " workers are") +
         " building " + producer::counted(others.count, "other job") +
         (others.count == 1 ? ", for " : ", the longest for ") + age;
}

// Says for how long which worker has been building the job: a leased job, or a queued job in advance.
std::string own_build_text(const JobStatus& status, std::int64_t now_ms) {
  return "the worker " + status.worker + " has been building " +
         (status.builds_extensions ? "the extensions of this job" : "this job") + " for " +
         age_text(now_ms - status.build_started_ms);
}

std::string queued_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                        const Pauses& pauses, std::int64_t now_ms) {
  const bool has_failed = !job.last_error.empty() && status.why != WaitReason::after_failure;
  return waiting_text(status, job, workers, pauses, now_ms) +
         (has_failed ? "; an earlier attempt failed by a fault of kq: " + job.last_error : "") +
         (status.build_started_ms != 0 ? "; " + own_build_text(status, now_ms) + ", in advance" : "") +
         other_builds_text(other_builds(status, job, workers), now_ms);
}

// A leased job may still wait in its worker, behind other builds.
std::string leased_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                        std::int64_t now_ms) {
  const std::string attempt = ", attempt " + std::to_string(status.attempt);
  if (status.build_started_ms != 0) return "is being built" + attempt + ": " + own_build_text(status, now_ms);
  const std::string age = age_text(now_ms - job.leased_at_ms);
  const OtherBuilds others = other_builds(status, job, workers);
  const auto worker = std::ranges::find(workers, status.worker, &WorkerStatus::worker);
  const bool may_wait = worker != workers.end() && worker->running > std::max<std::size_t>(1, worker->devices.size());
  if (others.count == 0 && !may_wait) return "has been running for " + age + attempt;
  if (others.count == 0)
    return "was leased to the worker " + status.worker + " " + age + " ago" + attempt + "; the worker holds " +
           producer::counted(worker->running, "job") + " and runs one at a time on each device";
  return "was leased to the worker " + status.worker + " " + age + " ago" + attempt + other_builds_text(others, now_ms);
}

// Names the command that shows the result of a finished job, as the row of its run may be that of a newer job. Empty
// for a job whose run is unknown.
std::string results_hint(const JobStatus& status, const JobRecord& job) {
  if (job.run.empty()) return "";
  const bool passed = status.verdict == to_string(VerdictName::passed);
  return "; kq show " + std::to_string(status.seq) + (passed ? " shows its times" : " shows why");
}

// Asks the broker for the record of a job. Returns an empty record if the job has changed its state meanwhile.
Expected<JobRecord> asked_record(producer::Client& client, const JobStatus& status) {
  KQ_TRY_VALUE(auto rows,
               ask<JobsReply>(client, JobsQuery{.state = status.state, .after_seq = status.seq - 1, .limit = 1}));
  if (rows.jobs.empty() || rows.jobs[0].job.seq != status.seq) return JobRecord();
  return std::move(rows.jobs[0].job);
}

Expected<Pauses> asked_pauses(producer::Client& client) {
  KQ_TRY_VALUE(const auto stats, ask<StatsReply>(client, StatsQuery{}));
  return pauses_of(stats);
}

// Asks the broker about jobs, at most kQuerySeqsMax of them in a message, and prints a sentence about each.
class Explainer {
 public:
  Explainer(const CtlWorld& world, producer::Client& client, bool json)
      : world_(world), client_(client), listing_(world.out, json, "jobs", {}), json_(json) {}

  // Explains the jobs `seqs`. `jobs` holds the records that the caller knows already; the others are asked for. Each
  // sentence ends in `note`.
  Expected<void> explain(const std::vector<Sequence>& seqs, const std::map<Sequence, JobRecord>& jobs,
                         const std::string& note = "") {
    if (!workers_) {
      KQ_TRY_VALUE(auto broker, ask<BrokerReply>(client_, BrokerQuery{}));
      workers_ = std::move(broker.workers);
    }
    for (std::size_t at = 0; at < seqs.size(); at += kQuerySeqsMax) {
      const auto chunk = std::span(seqs).subspan(at, std::min(kQuerySeqsMax, seqs.size() - at));
      const auto reply = ask<StatusReply>(client_, StatusQuery{{chunk.begin(), chunk.end()}});
      if (!reply) return failure(reply.error());
      known_count_ += reply->jobs.size();
      for (const JobStatus& status : reply->jobs) {
        KQ_TRY_VALUE(const auto job, record_of(status, jobs));
        if (status.why == WaitReason::paused && !pauses_) {
          KQ_TRY_VALUE(pauses_, asked_pauses(client_));
        }
        print(status, job, note);
      }
    }
    return {};
  }
  void finish() { listing_.finish(); }
  std::size_t known_count() const { return known_count_; }

 private:
  Expected<JobRecord> record_of(const JobStatus& status, const std::map<Sequence, JobRecord>& jobs) {
    if (const auto known = jobs.find(status.seq); known != jobs.end()) return known->second;
    return asked_record(client_, status);
  }

  void print(const JobStatus& status, const JobRecord& job, const std::string& note) {
    const std::string sentence =
        why_text(status, job, *workers_, pauses_.value_or(Pauses()), world_.unix_now_ms()) + note;
    if (!json_) {
      world_.out << printable(sentence) << '\n';
      return;
    }
    const OtherBuilds others = other_builds(status, job, *workers_);
    listing_.add({},
                 {{"id", json_number(status.seq)},
                  {"state", json_text(to_string(status.state))},
                  {"verdict", status.state == JobState::finished ? json_text(status.verdict) : producer::Json{nullptr}},
                  {"why", json_text(to_string(status.why))},
                  {"position", json_number(status.position)},
                  {"ahead", json_number(status.ahead)},
                  {"until_ms", json_time(status.until_ms)},
                  {"worker", json_text(status.worker)},
                  {"build_started_ms", json_time(status.build_started_ms)},
                  {"builds_extensions", producer::Json{status.builds_extensions}},
                  {"other_builds", json_number(others.count)},
                  {"other_build_started_ms", json_time(others.started_ms)},
                  {"building_workers", json_texts(others.workers)},
                  {"sentence", json_text(sentence)}});
  }

  const CtlWorld& world_;
  producer::Client& client_;
  Listing listing_;
  bool json_;
  std::optional<std::vector<WorkerStatus>> workers_;
  std::optional<Pauses> pauses_;  // no value until a job is paused
  std::size_t known_count_ = 0;
};

Expected<void> explain_run(producer::Client& client, const std::string& run, Explainer& explainer) {
  RunJobs run_jobs(run);
  KQ_TRY(run_jobs.each_row(client, [&](const std::vector<RunRow>& rows) {
    std::vector<Sequence> seqs;
    std::map<Sequence, JobRecord> jobs;
    for (const RunRow& row : rows) {
      if (jobs.emplace(row.job.seq, row.job).second) seqs.push_back(row.job.seq);
    }
    return explainer.explain(seqs, jobs);
  }));
  return run_jobs.each_former(client, [&](const std::vector<RunJobs::Former>& former) {
    std::vector<Sequence> seqs;
    std::map<Sequence, JobRecord> jobs;
    for (const RunJobs::Former& one : former) {
      seqs.push_back(one.job.seq);
      jobs.emplace(one.job.seq, one.job);
    }
    return explainer.explain(seqs, jobs, "; its row in run " + run + " has another job now");
  });
}

}  // namespace

std::string why_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                     const Pauses& pauses, std::int64_t unix_now_ms) {
  const std::string name = "job " + std::to_string(status.seq) + " ";
  switch (status.state) {
    case JobState::queued:
      return name + queued_text(status, job, workers, pauses, unix_now_ms);
    case JobState::leased:
      return name + leased_text(status, job, workers, unix_now_ms);
    case JobState::finished:
      return name + "is finished: " + status.verdict + results_hint(status, job);
  }
  return name;
}

Expected<std::optional<std::string>> why_first_unfinished(producer::Client& client, std::span<const Sequence> seqs,
                                                          std::int64_t unix_now_ms) {
  for (; !seqs.empty(); seqs = seqs.subspan(std::min(kQuerySeqsMax, seqs.size()))) {
    const auto chunk = seqs.first(std::min(kQuerySeqsMax, seqs.size()));
    KQ_TRY_VALUE(const auto reply, ask<StatusReply>(client, StatusQuery{{chunk.begin(), chunk.end()}}));
    for (const JobStatus& status : reply.jobs) {
      if (status.state == JobState::finished) continue;
      KQ_TRY_VALUE(const auto job, asked_record(client, status));
      KQ_TRY_VALUE(const auto broker, ask<BrokerReply>(client, BrokerQuery{}));
      Pauses pauses;
      if (status.why == WaitReason::paused) {
        KQ_TRY_VALUE(pauses, asked_pauses(client));
      }
      return std::optional(why_text(status, job, broker.workers, pauses, unix_now_ms));
    }
  }
  return std::nullopt;
}

Expected<ExitCode> ctl_why(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::vector<std::string> words;
  std::string run;
  Flags flags(
      argv[0],
      "Explains for each job why it is not done yet, for example by its place in the queue or because no worker "
      "has its GPU. The exit code is 5 when a job is unknown.");
  flags.option("--run", "NAME", "explain the unfinished jobs of this run, also those whose rows have other jobs now",
               run);
  flags.arguments("JOB", "numbers of jobs, as kq submit prints them", words);
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (words.empty() == run.empty()) return bad_input("give either job numbers or --run NAME");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(words));
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));

  Explainer explainer(world, client, broker.json);
  KQ_TRY(run.empty() ? explainer.explain(seqs, {}) : explain_run(client, run, explainer));
  explainer.finish();
  if (explainer.known_count() == 0 && !run.empty() && !broker.json)
    world.out << "every job of run " << printable(run) << " is finished\n";
  if (explainer.known_count() < seqs.size()) {
    const std::size_t unknown = seqs.size() - explainer.known_count();
    return failure(Error{ErrorKind::not_found, producer::counted(unknown, "job") + (unknown == 1 ? " is" : " are") +
                                                   " unknown to broker " + client.url()});
  }
  return ExitCode::ok;
}

}  // namespace kq::tools
