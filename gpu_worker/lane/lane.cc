#include "gpu_worker/lane/lane.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gpu_worker/core/deadlines.h"
#include "gpu_worker/lane/profile.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kMemoryBackLimitMs = 5'000;  // for the device to have what a dead child had
constexpr std::int64_t kStopLimitMs = 1'000;        // for the judge to notice that a killed submission is gone
constexpr std::int64_t kGoneLimitMs = 15'000;       // for that one to be: a fork bomb takes the processors some seconds
// Of a large device's memory a window may take this share: there are two of them, copies of both, what reference and
// submission compute with, and the children that wait. What finds no room all the same is too_large.
constexpr std::uint64_t kWindowsPerDevice = 8;
constexpr std::int64_t kProfileMs = 10'000;           // a pass under a profiler, at the least
constexpr std::int64_t kProfileEndLimitMs = 120'000;  // for a profiler to write its report, and to read it
constexpr std::int64_t kProfileLookMs = 100;
constexpr std::int64_t kLookMs = 5;  // how often the lane looks for exits while the judge works

// A time of Triton's interpreter says nothing of a kernel: a few samples of it are enough.
constexpr std::uint32_t kInterpretedBudgetMs = 200;

// What a pipe holds now, and no more: a descriptor that escaped must not hold the lane.
std::string content_of(const sys::Fd& pipe) {
  std::string text(64u << 10, '\0');
  const ssize_t n = ::read(pipe.get(), text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

Killed end_of(const LaneChild& killed) {
  return killed.exit_told ? Killed::is_gone : Killed::lives_on;
}

// One that is kept may have died since it was used last, and its judge would find out at the cost of a job's attempt.
bool lives(const LaneChild& child) {
  const auto exit = child.zygote->wait(child.id, 0);
  return exit && !*exit;
}

// By the kernel of a machine without memory, or by a person: kq's own limits of memory are told apart, and no other
// limit of kq ends a process so.
bool is_killed_outside(int wait_status) {
  return (wait_status & kKilledForMemory) == 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
}

// What comes of that.
bool is_end_of_child(const Verdict& verdict) {
  return name_of(verdict) == VerdictName::crashed || name_of(verdict) == VerdictName::problem_invalid;
}

// A submission, or its problem.
bool is_short_of_gpu_memory(const Verdict& verdict) {
  const Evidence* const why = evidence_of(verdict);
  return name_of(verdict) == VerdictName::too_large ||
         (name_of(verdict) == VerdictName::out_of_memory && why != nullptr && why->reason == "gpu");
}

}  // namespace

Expected<std::unique_ptr<Lane>> Lane::open(LaneOptions options) {
  std::unique_ptr<Lane> lane(new Lane(std::move(options)));
  KQ_TRY_VALUE(auto warming, channel::WarmUpPage::make());
  lane->warming_.emplace(std::move(warming));
  KQ_TRY_VALUE(const auto judge, lane->living_judge());
  lane->device_ = judge->device();
  if (!lane->device_.uuid.empty() && !lane->options_.lock_dirs.empty()) {
    KQ_TRY_VALUE(auto lock, GpuLock::take(lane->options_.lock_dirs, lane->device_, lane->options_.worker));
    lane->lock_.emplace(std::move(lock));
  }
  lane->options_.zygote.device_uuid = lane->device_.uuid;
  if (lane->options_.device == DeviceKind::cuda) {
    Limits& limits = lane->options_.limits;
    limits.window_bytes_max = std::max(limits.window_bytes_max, lane->device_.memory_bytes / kWindowsPerDevice);
    limits.bursts = lane->options_.bursts;
  }
  const LaneOptions& given = lane->options_;
  auto watch = given.watch                        ? given.watch(lane->device_)
               : given.device == DeviceKind::cuda ? watch_gpu(lane->device_.uuid)
                                                  : nullptr;
  lane->cleanliness_ = std::make_unique<Cleanliness>(std::move(watch));
  KQ_TRY(lane->living_zygote());
  lane->children_ = std::make_unique<Children>(
      ChildrenOptions{.arch = lane->device_.arch,
                      .scratch = given.scratch,
                      .first_uid = given.first_uid,
                      .host_bytes_max = given.limits.host_bytes_max,
                      .window_bytes_max = given.limits.window_bytes_max,
                      .profiler = given.profiler,
                      .audits = given.audits && given.device == DeviceKind::cuda,
                      .ahead = given.children_ahead},
      *lane->warming_, [raw = lane.get()] { return raw->living_zygote(); },
      [raw = lane.get()] { return raw->cleanliness_->memory_complaint(kMemoryBackLimitMs); });
  return lane;
}

Lane::~Lane() {
  if (!children_) return;
  drop_calibrators();
  drop_reference();
}

void Lane::abort() {
  aborted_ = true;
  if (children_) children_->stop();
  const std::lock_guard lock(zygote_mutex_);
  if (zygote_) zygote_->stop();
}

void Lane::settle() {
  children_->settle();
  children_->await_ready();
}

void Lane::drop(std::optional<LaneChild>& calibrator) {
  if (calibrator) children_->retire(std::move(*calibrator));
  calibrator.reset();
}

void Lane::drop_calibrators() {
  for (auto& calibrator : calibrators_) drop(calibrator);
}

void Lane::drop_reference() {
  if (reference_) children_->retire(std::move(reference_->child));
  reference_.reset();
}

Expected<std::shared_ptr<Zygote>> Lane::zygote() {
  auto zygote = living_zygote();
  count_start(failed_zygotes_, "Python", zygote ? std::nullopt : std::optional(zygote.error()));
  return zygote;
}

Expected<JudgeLink*> Lane::judge() {
  auto judge = living_judge();
  count_start(failed_judges_, "judge", judge ? std::nullopt : std::optional(judge.error()));
  return judge;
}

void Lane::count_start(std::atomic<int>& failures, const char* what, const std::optional<Error>& error) {
  if (!error) {
    failures = 0;
  } else if (++failures >= kFailedStartsMax) {
    quarantine_for("its " + std::string(what) + " did not start " + std::to_string(kFailedStartsMax) +
                   " times in a row: " + error->message);
  }
}

Expected<std::shared_ptr<Zygote>> Lane::living_zygote() {
  const std::lock_guard lock(zygote_mutex_);
  if (aborted_) return our_fault("the worker is leaving");
  if (!zygote_ || !zygote_->alive()) {
    zygote_.reset();
    KQ_TRY_VALUE(auto started, Zygote::start(options_.zygote));
    zygote_ = std::move(started);
  }
  return zygote_;
}

Expected<JudgeLink*> Lane::living_judge() {
  if (!judge_ || !judge_->alive()) {
    if (children_) {  // a new judge knows no old child
      drop_calibrators();
      drop_reference();
    }
    judge_.reset();
    warming_->set_preparing(false);  // as the last one may have left it
    KQ_TRY_VALUE(auto started,
                 JudgeLink::start(options_.judge_program, options_.device, options_.index, options_.cores));
    // Without a GPU nothing that warms up is in anybody's way.
    if (options_.device == DeviceKind::cuda) {
      KQ_TRY(started->share(*warming_));
    }
    judge_ = std::move(started);
  }
  return judge_.get();
}

bool Lane::has_reference_for(const Lease& lease) const {
  return reference_ && lives(reference_->child) && reference_->problem == lease.submission.problem.hash &&
         reference_->precision == lease.submission.problem.precision;
}

// Once more in a fresh child where its time is in doubt, or where the clock of the submission's process and the judge's
// cannot both be right: a machine may be disturbed once, a forged clock is so every time. All of it is of the run's one
// limit.
Expected<Result> Lane::run(const Lease& lease, const Built& built, std::stop_token stop) {
  const std::int64_t start_ms = sys::monotonic_now_ms();
  Run run{
      .lease = lease, .built = built, .stop = stop, .time = RunTime(limit_of(lease.submission, options_.run_limit_ms))};
  auto attempt = this->attempt(run);
  if (!attempt) return failure(attempt.error());
  const std::int64_t took_ms = sys::monotonic_now_ms() - start_ms;
  std::int64_t trials_us = 0;
  const auto look_again = [&]() -> Expected<Looks> {
    KQ_TRY_VALUE(auto another, another_attempt(run, took_ms));
    if (!another) return Looks::one;
    trials_us += attempt->report.trials_us;
    attempt = std::move(*another);
    return Looks::two;
  };
  if (device_.kind == DeviceKind::cuda && doubts_.wants_another(attempt->report)) {
    KQ_TRY(look_again());
  }
  if (!attempt->report.disagreement.empty()) {
    KQ_TRY_VALUE(const auto looks, look_again());
    KQ_TRY(reject_forged_clock(attempt->report, lease.submission.trials, looks));
  }
  Report& report = attempt->report;
  KQ_TRY(blame_foreigners(*report.verdict, attempt->conditions));
  if (measurement_of(*report.verdict) != nullptr && is_audited(lease.submission)) audit(lease.submission, *attempt);

  const bool is_measured = measurement_of(*report.verdict) != nullptr;
  Result result{
      .verdict = std::move(*report.verdict),
      .device = device_,
      .worker = options_.worker,
      .times = {.build_ms = built.ms,
                .build_cached = built.cached,
                .run_ms = sys::monotonic_now_ms() - start_ms,
                .trials_us = trials_us + report.trials_us},
      .software = std::move(attempt->software),
      .sandbox = std::move(attempt->sandbox),
      .log = std::move(attempt->log),
      .samples = is_measured ? std::move(report.samples) : Samples()};  // figures of wrong answers are kept nowhere
  result.toolchain = built.toolchain;
  result.conditions = std::move(attempt->conditions);
  if (is_measured && lease.submission.trials.profile != Profiler::none) result.profile = profile(run);
  return result;
}

// Whatever goes wrong here, the verdict stands: it is told in words.
Profile Lane::profile(Run& run) {
  if (device_.kind != DeviceKind::cuda) return {.message = "a profile needs a GPU"};
  if (options_.profiler.empty())
    return {.message = "ncu was not found where the worker runs: put it into PATH, or name it in KQ_NCU"};
  const std::int64_t start_ms = sys::monotonic_now_ms();
  const std::string limit = limit_text(run.time.limit_ms());
  if (!run.time.has_room(start_ms, kProfileMs)) {
    return {.message = "of " + limit + " for its run " + limit_text(run.time.left_ms(start_ms)) +
                       " were left: a profile takes " + limit_text(kProfileMs) + " and more"};
  }
  auto attempt = attempt_once(run, ChildRole::profile);
  Profile profile;
  if (attempt && attempt->profile) profile = std::move(*attempt->profile);
  if (!attempt) profile.message = attempt.error().message;
  // What the profiler itself complains of says more.
  const Evidence* const why = attempt && profile.tool.empty() ? evidence_of(*attempt->report.verdict) : nullptr;
  if (why != nullptr)
    profile.message = "under the profiler it ended as " + std::string(to_string(name_of(*attempt->report.verdict))) +
                      ": " + why->message;
  if (attempt && profile.tool.empty() && run.time.left_ms(sys::monotonic_now_ms()) == 0)
    profile.message = "the profiler had not ended when the " + limit + " for its run were over";
  profile.ms = sys::monotonic_now_ms() - start_ms;
  return profile;
}

// Device code is launched by our own program, which makes no streams.
bool Lane::is_audited(const Submission& submission) const {
  return options_.audits && device_.kind == DeviceKind::cuda && submission.backend != Backend::cuda;
}

void Lane::audit(const Submission& submission, Attempt& passed) {
  const Trials& trials = submission.trials;
  // Timed calls may end early, decoys and calls that come again only add to them.
  const std::uint32_t calls = trials.correctness + trials.warmup + std::min(trials.timed, kTimedSamplesMin);
  const std::string home = std::filesystem::path(options_.zygote.python).parent_path().parent_path();
  const AuditReport report = read_audit(passed.audit, calls, home);
  if (report.is_on) passed.sandbox += ",audit";
  no_audit_ = report.off;
  if (report.rejection) passed.report.verdict = ended(VerdictName::rejected, *report.rejection);
}

Limits Lane::limits_for(const Submission& submission) const {
  Limits limits = options_.limits;
  if (device_.kind == DeviceKind::cpu && submission.backend == Backend::triton) {
    limits.timed_budget_ms = std::min(limits.timed_budget_ms, kInterpretedBudgetMs);
  }
  return limits;
}

// Once more where memory was short while others still had some of it: that was ours. Where a reference that has ended
// its work had it, whatever else went wrong may have come of that. And once more where a child was killed by somebody
// outside of kq: the second time it is the child's own doing, for one may kill itself.
Expected<Lane::Attempt> Lane::attempt(Run& run) {
  const bool has_former = reference_ && !has_reference_for(run.lease);
  auto attempt = attempt_once(run);
  const bool has_started = failed_judges_ == 0 && failed_zygotes_ == 0;
  const bool may_try_again = !run.stop.stop_requested() && !aborted_ && !quarantine() && has_started;
  const bool was_short =
      attempt ? attempt->crowded && is_short_of_gpu_memory(*attempt->report.verdict) : has_former && may_try_again;
  const bool was_killed = attempt && may_try_again && killed_outside_ && is_end_of_child(*attempt->report.verdict);
  if (!was_short && !was_killed) return attempt;
  children_->settle();
  const std::int64_t now_ms = sys::monotonic_now_ms();
  const bool has_all = run.time.left_ms(now_ms) == run.time.limit_ms();
  if (run.time.has_room(now_ms, 0)) {
    auto again = attempt_once(run);
    if (!again || has_all || !ran_out_of_time(again->report)) return again;
  } else if (!attempt) {
    return attempt;
  }
  // Nobody is charged for what others did, nor for the time that it took.
  const std::string why = was_short ? "the device's memory was short while others gave some back"
                                    : "a process of the job was killed from outside";
  return our_fault(why + ", and the " + limit_text(run.time.limit_ms()) + " for its run left no time to try again");
}

// One that runs out of what others left says nothing of the submission.
Expected<std::optional<Lane::Attempt>> Lane::another_attempt(Run& run, std::int64_t took_ms) {
  if (!run.time.has_room(sys::monotonic_now_ms(), took_ms)) return std::optional<Attempt>();
  auto attempt = this->attempt(run);
  if (!attempt && !quarantine() && run.time.left_ms(sys::monotonic_now_ms()) == 0) return std::optional<Attempt>();
  if (!attempt) return failure(attempt.error());
  if (ran_out_of_time(attempt->report)) return std::optional<Attempt>();
  return std::optional(std::move(*attempt));
}

Expected<Lane::Attempt> Lane::attempt_once(Run& run, ChildRole role) {
  const Lease& lease = run.lease;
  const std::stop_token& stop = run.stop;
  if (stop.stop_requested()) return our_fault("stopped before it began");
  if (const auto why = children_->complaint()) quarantine_for(*why);
  if (const auto why = quarantine()) return our_fault("quarantined " + *why);
  KQ_TRY_VALUE(auto judge, this->judge());
  KQ_TRY(this->zygote());
  // From before a child is taken, which makes room for another; the judge says when it is over.
  const channel::ScopedPreparing preparing(device_.kind == DeviceKind::cuda ? &*warming_ : nullptr);

  // The children that are kept: a calibrator for each kind, a reference for each problem.
  const ChildKind kind = kind_of(lease.submission.backend, device_.kind);
  std::optional<LaneChild>& calibrator = calibrators_[static_cast<std::size_t>(kind)];
  const bool fresh_calibrator = !calibrator || !lives(*calibrator);
  if (fresh_calibrator) {
    drop(calibrator);
    KQ_TRY_VALUE(auto child, children_->take(ChildRole::calibrator, kind, lease, nullptr));
    calibrator.emplace(std::move(child));
  }
  const bool fresh_reference = !has_reference_for(lease);
  if (fresh_reference) {
    // Its end would hold up the driver while the next one loads.
    if (reference_) children_->retire_in_time(std::move(reference_->child));
    reference_.reset();
    auto child = children_->take(ChildRole::reference, kind_of_references(device_.kind), lease, nullptr);
    if (child)
      reference_.emplace(
          Reference{lease.submission.problem.hash, lease.submission.problem.precision, std::move(*child)});
    if (!child) {
      if (fresh_calibrator) drop(calibrator);
      return failure(child.error());
    }
  }

  // The submission child: used once.
  const bool is_profiled = role == ChildRole::profile;
  auto submission = children_->take(role, kind, lease, &run.built);
  if (!submission) {
    // The judge never got to know these.
    if (fresh_calibrator) drop(calibrator);
    if (fresh_reference) drop_reference();
    return failure(submission.error());
  }
  Attempt attempt{.report = {},
                  .software = submission->zygote->software(),
                  .sandbox = submission->zygote->sandbox(),
                  .log = {},
                  .audit = {},
                  .conditions = {},
                  .crowded = children_->is_taking_down()};

  // From here on the judge decides.
  std::vector<int> channels;
  if (fresh_calibrator) channels.push_back(calibrator->channel.get());
  if (fresh_reference) channels.push_back(reference_->child.channel.get());
  channels.push_back(submission->channel.get());
  const Plan plan{.id = ++plans_,
                  .fresh_calibrator = fresh_calibrator,
                  .calibrator = static_cast<std::uint32_t>(kind),
                  .fresh_reference = fresh_reference,
                  .backend = lease.submission.backend,
                  .trials = is_profiled ? profile_trials() : lease.submission.trials,
                  .rtol = lease.submission.problem.rtol,
                  .atol = lease.submission.problem.atol,
                  .limits = is_profiled ? profile_limits(limits_for(lease.submission)) : limits_for(lease.submission)};
  auto report = [&]() -> Expected<Report> {
    KQ_TRY(judge->begin(plan, channels));
    for (LaneChild* child : {&*calibrator, &reference_->child, &*submission}) child->channel = sys::Fd();
    run.time.begin(sys::monotonic_now_ms());
    return await(*calibrator, *submission, role, run.time, stop);
  }();

  // While all is there still, and as warm as the trials left it.
  if (report) attempt.conditions = cleanliness_->conditions(judge_process());
  if (report && is_profiled) {
    // Its judge is gone, so it ends by itself, and the profiler has the last word.
    const std::int64_t limit_ms =
        sys::monotonic_now_ms() + std::min(kProfileEndLimitMs, run.time.left_ms(sys::monotonic_now_ms()));
    const auto is_there = [&] {
      const auto exit = submission->zygote->wait(submission->id, kProfileLookMs);
      return exit && !*exit;
    };
    while (is_there() && sys::monotonic_now_ms() < limit_ms && !is_overflowing(submission->scratch.out())) {
    }
    attempt.profile = collect_profile(submission->scratch.out(), options_.profiles, lease);
  }
  const sys::Fd audit = std::move(submission->audit);
  attempt.log = children_->retire(std::move(*submission));
  if (audit) attempt.audit = content_of(audit);
  if (!report || !report->reference_usable) drop_reference();
  if (!report || !report->verdict) drop_calibrators();
  if (const auto complaint = cleanliness_->driver_complaint()) quarantine_for(*complaint);
  if (const auto why = children_->complaint()) quarantine_for(*why);
  if (const auto why = quarantine()) return our_fault("quarantined " + *why);
  if (!report) {
    judge_.reset();  // whatever state it is in: the next job gets a new one
    return failure(report.error());
  }
  if (stop.stop_requested()) return our_fault("stopped");
  if (!report->verdict) return our_fault("the judge could not finish: " + report->error);
  attempt.report = std::move(*report);
  return attempt;
}

// Passes on who died while the judge works, and holds the attempt to what is left of its run's time. A submission that
// is stopped, or whose time is over, is killed: its judge then ends the plan as for any that died, and keeps its device
// and its reference for the next; what that says is told in overtime.h.
Expected<Report> Lane::await(LaneChild& calibrator, LaneChild& submission, ChildRole submission_role,
                             const RunTime& time, const std::stop_token& stop) {
  bool stopped = false;
  bool killed = false;
  killed_outside_ = false;
  std::int64_t deadline_ms = sys::monotonic_now_ms() + time.left_ms(sys::monotonic_now_ms());
  for (;;) {
    KQ_TRY_VALUE(auto report, judge_->report(kLookMs));
    if (report) {
      if (report->id != plans_) return our_fault("the judge answered another plan");
      return killed && !stopped ? after_kill(std::move(*report), end_of(submission), time.limit_ms())
                                : std::move(*report);
    }
    for (auto [child, role] :
         {std::pair{&calibrator, ChildRole::calibrator}, std::pair{&reference_->child, ChildRole::reference},
          std::pair{&submission, ChildRole::submission}}) {
      if (child->exit_told) continue;
      KQ_TRY_VALUE(const auto status, child->zygote->wait(child->id, 0));
      if (!status) continue;
      child->exit_told = true;
      killed_outside_ = killed_outside_ || (is_killed_outside(*status) && !(killed && child == &submission));
      KQ_TRY(judge_->tell({role, *status}));
      if (killed && child == &submission) deadline_ms = sys::monotonic_now_ms() + kStopLimitMs;
    }
    if (aborted_) return our_fault("the worker is leaving");
    if (!stopped && stop.stop_requested()) {
      stopped = true;
      if (killed) deadline_ms = std::min(deadline_ms, sys::monotonic_now_ms() + kStopLimitMs);
    }
    const bool is_over = sys::monotonic_now_ms() > deadline_ms;
    if (killed && is_over) {
      judge_.reset();  // it is in the middle of this plan; the next job gets a new one
      if (stopped) return our_fault("stopped");
      return without_answer(plans_, end_of(submission), time.limit_ms());
    }
    if (!killed &&
        (stopped || is_over || (submission_role == ChildRole::profile && is_overflowing(submission.scratch.out())))) {
      killed = true;
      submission.zygote->kill(submission.id);
      deadline_ms = sys::monotonic_now_ms() + (stopped || submission.exit_told ? kStopLimitMs : kGoneLimitMs);
    }
  }
}

// The first reason stays. A worker that is leaving kills its zygote under its children, and looks at nothing any more.
void Lane::quarantine_for(const std::string& why) {
  const std::lock_guard lock(quarantine_mutex_);
  if (!quarantine_ && !aborted_)
    quarantine_ = (device_.uuid.empty() ? device_.model : device_.model + " " + device_.uuid) + ": " + why;
}

std::optional<std::string> Lane::quarantine() const {
  const std::lock_guard lock(quarantine_mutex_);
  return quarantine_;
}

}  // namespace kq::worker
