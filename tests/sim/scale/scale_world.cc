#include "tests/sim/scale/scale_world.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "producer/submit/submit.h"
#include "tests/sim/client_host.h"
#include "tests/sim/worker_host.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kTenths = 10;
constexpr std::uint64_t kOrderJobs = 1'000;  // jobs that one call of submit() gets
constexpr std::int64_t kStuckMs = 600'000;   // simulated time without progress after which a world has failed
constexpr std::int64_t kComeBackMs = 3'000;
constexpr std::int64_t kKeepMsMin = 10'000;  // so that retention works while the jobs of a short world run
constexpr std::uint64_t kProblems = 250;     // as many as KernelBench has

std::uint64_t memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;  // the second number is the resident set
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The jobs that are alike in all but their kernel, as in a sweep.
producer::Prepared order_of(const std::string& submitter, std::uint64_t first, std::uint64_t count) {
  producer::Prepared order{.run = "run of " + submitter, .submitter = submitter, .jobs = {}, .mistakes = {}};
  order.jobs.reserve(count);
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::string source = "# kernel " + std::to_string(number) + " of " + submitter;
    const std::string problem = "problem " + std::to_string(number % kProblems);
    producer::PackedJob job;
    job.submission.label = std::to_string(number);
    job.submission.files = {{"kernel.py", sha256(source)}};
    job.submission.problem.name = problem;
    job.submission.problem.file = "problem.py";
    job.submission.problem.hash = sha256(problem);
    job.files = {{.name = "kernel.py", .path = "kernel.py", .text = source},
                 {.name = "problem.py", .path = "problem.py", .text = problem}};
    order.jobs.push_back(std::move(job));
  }
  return order;
}

broker::BrokerOptions broker_options(const ScaleOptions& options) {
  broker::BrokerOptions result;
  result.keep_jobs = options.keep_jobs;
  result.keep_ms_min = kKeepMsMin;
  return result;
}

class ScaleWorld {
 public:
  ScaleWorld(const ScaleOptions& options, store::Store& store, const std::function<void(const ScaleFigures&)>& tell)
      : options_(options), tell_(tell), context_(options.seed, {}), store_(store, options.job_count) {
    context_.rates = {};
    machine_.emplace(context_, network_, store_, broker_options(options));
    for (std::uint64_t i = 0; i < options_.submitter_count; ++i) add_submitter(i);
    for (std::uint64_t i = 0; i < options_.worker_count; ++i) add_worker(i);
  }

  ScaleOutcome run() {
    outcome_.memory_begin_bytes = memory_bytes();
    for (auto& submitter : submitters_) submitter->start();
    run_phase(ScalePhase::fill);
    for (auto& worker : workers_) worker->start();
    plan_crash();
    run_phase(ScalePhase::drain);
    check_end();
    outcome_.simulated_ms = context_.timeline.now_ms() - Timeline::kBeginMs;
    return std::move(outcome_);
  }

 private:
  void add_submitter(std::uint64_t number) {
    // The jobs are divided among the submitters; the first ones get the rest.
    const std::uint64_t rest = options_.job_count % options_.submitter_count;
    const std::uint64_t count = options_.job_count / options_.submitter_count + (number < rest ? 1 : 0);
    const std::string name = "c" + std::to_string(number + 1);
    submitters_.push_back(std::make_unique<ClientHost>(
        context_, network_, name, [this, name, count](producer::Client& client) { submit_all(client, name, count); }));
  }

  void add_worker(std::uint64_t number) {
    const std::string name = "w" + std::to_string(number + 1);
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.arch = "sm_90";
    device.model = "H200";
    device.memory_bytes = 140;
    device.uuid = "GPU-" + name;
    workers_.push_back(std::make_unique<WorkerHost>(
        context_, network_, oracle_,
        WorkerTraits{.machine = name, .name = name, .devices = {device}, .run_ms_max = options_.run_ms_max}));
  }

  void submit_all(producer::Client& client, const std::string& name, std::uint64_t count) {
    for (std::uint64_t first = 0; first < count; first += kOrderJobs) {
      const producer::Prepared order = order_of(name, first, std::min(kOrderJobs, count - first));
      producer::SubmitOptions options;
      options.answered = [this](const producer::SubmittedJob& job) {
        if (job.ack.acceptance == Acceptance::accepted) return void(++acknowledged_count_);
        violated("a new job was answered " + std::string(to_string(job.ack.acceptance)) + " " + job.ack.reason);
      };
      const auto summary = producer::submit(client, order, options);
      if (summary.stopped) return violated("jobs were not sent: " + summary.stopped->message);
    }
  }

  void plan_crash() {
    if (options_.crash_interval_ms == 0) return;
    context_.timeline.after(options_.crash_interval_ms, [this] {
      WorkerHost& worker = *workers_[context_.random.below(workers_.size())];
      worker.crash();
      worker.come_back_in(kComeBackMs);
      ++outcome_.crash_count;
      plan_crash();
    });
  }

  std::uint64_t done_count(ScalePhase phase) const {
    return phase == ScalePhase::fill ? acknowledged_count_ : store_.finished_count();
  }

  // Runs until every job is submitted or finished, and takes the figures of each tenth.
  void run_phase(ScalePhase phase) {
    for (std::uint64_t tenth = 1; tenth <= kTenths && !outcome_.violation; ++tenth) {
      const std::uint64_t done_before = done_count(phase);
      const StoreWork store_before = store_.work();
      const BrokerWork broker_before = machine_->work();
      run_until(phase, options_.job_count * tenth / kTenths);
      BrokerWork broker = machine_->work();
      broker.message_count -= broker_before.message_count;
      broker.turn_count -= broker_before.turn_count;
      broker.cpu_ns -= broker_before.cpu_ns;
      broker.longest_turn_ns = machine_->take_longest_turn_ns();
      outcome_.tenths.push_back({.phase = phase,
                                 .job_count = done_count(phase) - done_before,
                                 .queued = acknowledged_count_ - store_.finished_count(),
                                 .broker = broker,
                                 .store = store_.work() - store_before,
                                 .memory_bytes = memory_bytes()});
      if (tell_) tell_(outcome_.tenths.back());
      if (phase != ScalePhase::drain || tenth != kTenths / 2) continue;
      outcome_.recovered_count = outcome_.tenths.back().queued;
      outcome_.recovery_ns = machine_->restart();
    }
  }

  void run_until(ScalePhase phase, std::uint64_t wanted) {
    std::uint64_t reached = done_count(phase);
    std::int64_t progress_ms = context_.timeline.now_ms();
    while (done_count(phase) < wanted && !outcome_.violation) {
      if (!context_.timeline.step()) return violated("nothing is planned any more");
      if (done_count(phase) != reached) {
        reached = done_count(phase);
        progress_ms = context_.timeline.now_ms();
      }
      if (context_.timeline.now_ms() - progress_ms > kStuckMs)
        violated("of " + std::to_string(wanted) + " jobs only " + std::to_string(reached) + " are done");
      if (machine_->failure()) violated("the broker ended: " + *machine_->failure());
      if (oracle_.violation()) violated(*oracle_.violation());
    }
  }

  void check_end() {
    if (outcome_.violation) return;
    if (store_.doubled_count() != 0) violated(std::to_string(store_.doubled_count()) + " results were doubled");
    if (store_.unknown_count() != 0) violated(std::to_string(store_.unknown_count()) + " results belong to no job");
    std::uint64_t left_count = 0;
    const auto count_all = [&](auto, auto) {
      ++left_count;
      return true;
    };
    if (auto scanned = store_.scan(store::Family::queue, "", "", count_all); !scanned)
      violated(scanned.error().message);
    if (left_count != 0) violated(std::to_string(left_count) + " finished jobs are in the queue");
  }

  void violated(std::string what) {
    if (!outcome_.violation) outcome_.violation = std::move(what);
  }

  const ScaleOptions options_;
  const std::function<void(const ScaleFigures&)>& tell_;
  Context context_;
  Network network_{context_};
  Oracle oracle_;  // only for what workers report; its own checks take time that grows with the number of jobs
  CountingStore store_;
  ScaleOutcome outcome_;
  std::uint64_t acknowledged_count_ = 0;
  std::optional<BrokerMachine> machine_;
  std::vector<std::unique_ptr<ClientHost>> submitters_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
};

}  // namespace

ScaleOutcome run_scale(const ScaleOptions& options, store::Store& store,
                       const std::function<void(const ScaleFigures&)>& tell) {
  return ScaleWorld(options, store, tell).run();
}

double growth(const ScaleOutcome& outcome, ScalePhase phase,
              const std::function<double(const ScaleFigures& tenth)>& work) {
  double second = 0;
  double last = 0;
  std::uint64_t number = 0;
  for (const ScaleFigures& tenth : outcome.tenths) {
    if (tenth.phase != phase) continue;
    if (++number == 2) second = work(tenth);
    last = work(tenth);
  }
  return second > 0 ? last / second : 0;
}

}  // namespace kq::sim
