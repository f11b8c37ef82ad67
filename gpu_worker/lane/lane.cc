#include "gpu_worker/lane/lane.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gpu_worker/child/runtime/audit.h"
#include "gpu_worker/core/deadlines.h"
#include "gpu_worker/core/second_attempt.h"
#include "gpu_worker/lane/crash_place.h"
#include "gpu_worker/lane/job_text.h"
#include "gpu_worker/lane/kernels_ran.h"
#include "gpu_worker/lane/profile.h"
#include "gpu_worker/machine/host.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kMemoryBackLimitMs = 5'000;  // from a child's death until the device has the child's memory back
constexpr std::int64_t kStopLimitMs = 1'000;        // until the judge reports after a stop or a killed submission's end
constexpr std::int64_t kGoneLimitMs = 15'000;       // until a killed submission is gone: a fork bomb takes some seconds
// The share of a large device's memory that a window may take. Besides two windows there are copies of the outputs, the
// working memory of reference and submission, and the waiting children. The largest problems of KernelBench need 16.1
// GiB, which an H100 of 80 GB has. A job that needs larger windows ends as too_large.
constexpr std::uint64_t kWindowPercent = 21;
constexpr std::int64_t kProfileMs = 10'000;           // the least that a pass under a profiler takes
constexpr std::int64_t kProfileEndLimitMs = 120'000;  // until the profiler has written and read its report
constexpr std::int64_t kProfilePollMs = 100;
constexpr std::int64_t kPollMs = 5;  // how often the lane checks for ended children while the judge works

// Times of Triton's interpreter say nothing about a kernel, so few samples of them are taken.
constexpr std::uint32_t kInterpretedBudgetMs = 200;

// Returns what a pipe holds now. Does not wait for its end, because another process may still have a descriptor of it.
std::string read_available(const sys::Fd& pipe) {
  std::string text(runtime::kAuditPipeBytes, '\0');
  const ssize_t size = ::read(pipe.get(), text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

AfterKill state_after_kill(const LaneChild& killed) {
  return killed.exit_reported ? AfterKill::is_gone : AfterKill::is_alive;
}

// Whether a kept child is alive. The judge would notice a dead one only at the cost of a job's attempt.
bool is_child_alive(const LaneChild& child) {
  const auto exit = child.zygote->wait(child.id, 0);
  return exit && !*exit;
}

}  // namespace

Expected<std::unique_ptr<Lane>> Lane::open(LaneOptions options) {
  std::unique_ptr<Lane> lane(new Lane(std::move(options)));
  KQ_TRY_VALUE(auto warm_ups, channel::WarmUpPage::make());
  lane->warm_ups_.emplace(std::move(warm_ups));
  KQ_TRY_VALUE(const auto judge, lane->living_judge());
  lane->device_ = judge->device();
  KQ_TRY_VALUE(lane->lock_, lane->lock(lane->device_));
  KQ_TRY_VALUE(auto gpus, lane->open_further_gpus());
  lane->options_.zygote.device_uuid = lane->device_.uuid;
  lane->options_.zygote.arch = lane->device_.arch;
  if (lane->options_.device == DeviceKind::cuda) {
    Limits& limits = lane->options_.limits;
    limits.window_bytes_max = std::max(limits.window_bytes_max, lane->device_.memory_bytes / 100 * kWindowPercent);
    limits.bursts = lane->options_.bursts;
  }
  const LaneOptions& given = lane->options_;
  lane->health_ = std::make_unique<DeviceHealth>(lane->watch(lane->device_));
  KQ_TRY_VALUE(const auto zygote, lane->living_zygote());
  lane->children_ = std::make_unique<Children>(
      ChildrenOptions{.arch = lane->device_.arch,
                      .gpus = std::move(gpus),
                      .scratch = given.scratch,
                      .first_uid = given.first_uid,
                      .host_bytes_max = given.limits.host_bytes_max,
                      .window_bytes_max = given.limits.window_bytes_max,
                      .profiler = given.profiler,
                      .audits = given.audits && given.device == DeviceKind::cuda,
                      .driver_cache = lane->driver_cache(*zygote),
                      .ahead = given.children_ahead.value_or(children_ahead_for(lane->device_))},
      *lane->warm_ups_, [raw = lane.get()] { return raw->living_zygote(); },
      [raw = lane.get()] { return raw->health_->unreturned_memory(kMemoryBackLimitMs); });
  return lane;
}

Expected<std::optional<GpuLock>> Lane::lock(const DeviceInfo& device) const {
  if (device.uuid.empty() || options_.lock_dirs.empty()) return std::optional<GpuLock>();
  KQ_TRY_VALUE(auto taken, GpuLock::take(options_.lock_dirs, device, options_.worker));
  return std::optional(std::move(taken));
}

std::unique_ptr<GpuWatch> Lane::watch(const DeviceInfo& device) const {
  if (options_.watch) return options_.watch(device);
  return device.kind == DeviceKind::cuda ? watch_gpu(device.uuid) : nullptr;
}

Expected<std::vector<std::string>> Lane::open_further_gpus() {
  std::vector<std::string> uuids;
  if (!device_.uuid.empty()) uuids.push_back(device_.uuid);
  for (const int index : options_.further_indices) {
    // A judge opens the GPU to describe it, and ends here.
    KQ_TRY_VALUE(const auto judge, JudgeLink::start(options_.judge_program, options_.device, index, options_.cores));
    const DeviceInfo& gpu = judge->device();
    if (gpu.model != device_.model)
      return bad_input("the GPUs of a lane must have one model, and these are " + device_.model + " and " + gpu.model +
                       "; name GPUs of one model with --devices");
    KQ_TRY_VALUE(auto lock, this->lock(gpu));
    further_gpus_.push_back({std::move(lock), DeviceHealth(watch(gpu))});
    if (!gpu.uuid.empty()) uuids.push_back(gpu.uuid);
    ++device_.device_count;
  }
  return uuids;
}

// Quarantines the lane where the driver has reported an error of a GPU that does not end with a program.
void Lane::check_drivers() {
  if (const auto error = health_->driver_error()) set_quarantine(*error);
  for (FurtherGpu& gpu : further_gpus_) {
    if (const auto error = gpu.health.driver_error()) set_quarantine("a further GPU of the lane: " + *error);
  }
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

void Lane::expect(const Lease& lease) {
  children_->expect(kind_of(lease.submission.backend, device_.kind), may_use_compiler(lease));
}

void Lane::wait_until_idle() {
  children_->wait_until_reaped();
  children_->wait_until_ready();
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

void Lane::count_start(std::atomic<int>& failures, const char* program, const std::optional<Error>& error) {
  if (!error) {
    failures = 0;
  } else if (++failures >= kFailedStartsMax) {
    set_quarantine("its " + std::string(program) + " did not start " + std::to_string(kFailedStartsMax) +
                   " times in a row: " + error->message);
  }
}

Expected<std::shared_ptr<Zygote>> Lane::living_zygote() {
  const std::lock_guard lock(zygote_mutex_);
  if (aborted_) return our_fault("the worker is ending");
  if (!zygote_ || !zygote_->alive()) {
    zygote_.reset();
    KQ_TRY_VALUE(auto started, Zygote::start(options_.zygote));
    zygote_ = std::move(started);
  }
  return zygote_;
}

// Ends the judge and removes the marks that it may have left in the warm-up page.
void Lane::end_judge() {
  judge_.reset();
  warm_ups_->set_preparing(false);
  warm_ups_->set_untimed(true);
}

Expected<JudgeLink*> Lane::living_judge() {
  if (!judge_ || !judge_->alive()) {
    if (children_) {  // a new judge does not have the channels of old children
      drop_calibrators();
      drop_reference();
    }
    end_judge();
    KQ_TRY_VALUE(auto started,
                 JudgeLink::start(options_.judge_program, options_.device, options_.index, options_.cores));
    // Without a GPU a warm-up does not disturb the judge.
    if (options_.device == DeviceKind::cuda) {
      KQ_TRY(started->send_warm_up_page(*warm_ups_));
    }
    judge_ = std::move(started);
  }
  return judge_.get();
}

bool Lane::has_reference_for(const Lease& lease) const {
  return reference_ && is_child_alive(reference_->child) && reference_->problem == lease.submission.problem.hash &&
         reference_->file == lease.submission.problem.file &&
         reference_->precision == lease.submission.problem.precision;
}

// The reference of the last problem is dropped first, because it may hold most of the device's memory.
Expected<std::string> Lane::make_driver_cache(const std::stop_token& stop) {
  if (!children_->wants_driver_cache() || quarantine()) return std::string();
  drop_reference();
  children_->wait_until_reaped();
  auto made = children_->make_driver_cache(stop);
  children_->wait_until_reaped();  // the end of its processes would disturb the next job
  return made;
}

// Returns nothing for a lane that is to have no archive, and where a child could write it.
std::optional<DriverCache> Lane::driver_cache(const Zygote& zygote) const {
  if (options_.driver_caches.empty() || !are_files_protected(zygote.sandbox(), options_.first_uid)) return std::nullopt;
  return DriverCache(options_.driver_caches, {.driver = this_host().driver,
                                              .arch = device_.arch,
                                              .torch = zygote.software().torch,
                                              .packages = zygote.software().packages,
                                              .harness = options_.zygote.harness});
}

std::optional<ProblemCertificate> Lane::kept_certificate(const Lease& lease) const {
  if (options_.certificates.empty()) return std::nullopt;
  return Certificates(options_.certificates).find(certificate_key(lease.submission, device_.kind));
}

// Keeps a certificate that the judge has made. Where it cannot be written, the next job makes it again.
void Lane::keep_certificate(Run& run, std::optional<ProblemCertificate> made) const {
  if (!made) return;
  (void)Certificates(options_.certificates).keep(certificate_key(run.lease.submission, device_.kind), *made);
  run.certificate = std::move(made);
}

// Returns the result of a job whose problem is known to be invalid. Nothing of the job runs.
Result Lane::invalid_problem(const Run& run, const Zygote& zygote) const {
  Result result{.verdict = ended(VerdictName::problem_invalid, *run.certificate->invalid),
                .device = device_,
                .worker = options_.worker,
                .times = {.build_ms = run.built.ms, .build_cached = run.built.cached},
                .software = zygote.software(),
                .sandbox = {},
                .log = {},
                .samples = {}};
  result.toolchain = run.built.toolchain;
  result.extensions = run.built.extensions;
  result.findings = run.built.findings;
  result.problem_warnings = run.certificate->warnings;
  return result;
}

Expected<Result> Lane::run(const Lease& lease, const Built& built, const std::stop_token& stop) {
  children_->allow(warm_ups_beside(lease));
  auto result = run_job(lease, built, stop);
  children_->allow(WarmUpsBeside::contexts_and_kernels);
  return result;
}

// Measures a job once more if the re-measurement policy asks for a second measurement or if the clocks of the
// submission and the judge mismatch. All attempts and the profile together keep the one time limit of the run.
Expected<Result> Lane::run_job(const Lease& lease, const Built& built, const std::stop_token& stop) {
  if (lease.submission.backend == Backend::eval_program) return run_eval_program(lease, built, stop);
  const std::int64_t start_ms = sys::monotonic_now_ms();
  Run run{
      .lease = lease, .built = built, .stop = stop, .time = RunTime(limit_of(lease.submission, options_.run_limit_ms))};
  run.certificate = kept_certificate(lease);
  if (run.certificate && run.certificate->invalid) {
    KQ_TRY(check_quarantine());
    KQ_TRY_VALUE(const auto zygote, this->zygote());
    return invalid_problem(run, *zygote);
  }
  auto attempt = this->attempt(run);
  if (!attempt) return failure(attempt.error());
  keep_certificate(run, std::move(attempt->report.certificate));
  const std::int64_t took_ms = sys::monotonic_now_ms() - start_ms;
  std::int64_t trials_us = 0;
  const auto measure_again = [&]() -> Expected<Measured> {
    KQ_TRY_VALUE(auto another, another_attempt(run, took_ms));
    if (!another) return Measured::once;
    trials_us += attempt->report.trials_us;
    attempt = std::move(*another);
    return Measured::twice;
  };
  if (device_.kind == DeviceKind::cuda && remeasure_policy_.needs_remeasurement(attempt->report)) {
    KQ_TRY(measure_again());
  }
  if (!attempt->report.disagreement.empty()) {
    KQ_TRY_VALUE(const auto measured, measure_again());
    KQ_TRY(reject_forged_clock(attempt->report, lease.submission.trials, measured));
  }
  Report& report = attempt->report;
  KQ_TRY(check_foreign_processes(*report.verdict, attempt->conditions));
  if (Ended* ended = std::get_if<Ended>(&*report.verdict)) explain(*ended, lease.submission, attempt->log);
  std::optional<KernelsRan> ran;
  if (measurement_of(*report.verdict) != nullptr && is_audited(lease.submission)) ran = audit(lease, *attempt);

  const bool is_measured = measurement_of(*report.verdict) != nullptr;
  Result result{.verdict = std::move(*report.verdict),
                .device = device_,
                .worker = options_.worker,
                .times = {.build_ms = built.ms,
                          .build_cached = built.cached,
                          .run_ms = sys::monotonic_now_ms() - start_ms,
                          .trials_us = trials_us + report.trials_us},
                .software = std::move(attempt->software),
                .sandbox = std::move(attempt->sandbox),
                .log = std::move(attempt->log),
                .samples = is_measured ? std::move(report.samples) : Samples()};  // times of wrong outputs are not kept
  result.toolchain = built.toolchain;
  result.extensions = built.extensions;
  result.findings = built.findings;
  result.cases = std::move(report.cases);
  result.kernels_ran = std::move(ran);
  if (run.certificate) result.problem_warnings = std::move(run.certificate->warnings);
  result.conditions = std::move(attempt->conditions);
  if (is_measured && lease.submission.trials.profile != Profiler::none) result.profile = profile(run);
  return result;
}

std::optional<Profile> Lane::no_profiler() const {
  if (device_.kind != DeviceKind::cuda) return Profile{.message = "a profile needs a GPU"};
  if (options_.profiler.empty())
    return Profile{.message = "ncu was not found where the worker runs: put it into PATH, or name it in KQ_NCU"};
  return std::nullopt;
}

// Profiles a submission that has passed. The verdict stays if the profile fails; the profile's message then says why.
Profile Lane::profile(Run& run) {
  if (auto none = no_profiler()) return std::move(*none);
  const std::int64_t start_ms = sys::monotonic_now_ms();
  const std::string limit = limit_text(run.time.limit_ms());
  if (!run.time.has_room(start_ms, kProfileMs)) {
    return {.message = "of " + limit + " for the run " + limit_text(run.time.left_ms(start_ms)) +
                       " were left, but a profile takes at least " + limit_text(kProfileMs)};
  }
  auto attempt = attempt_once(run, ChildRole::profile);
  Profile profile;
  if (attempt && attempt->profile) profile = std::move(*attempt->profile);
  if (!attempt) profile.message = attempt.error().message;
  // A message of the profiler itself says more than the verdict.
  const Evidence* const evidence = attempt && profile.tool.empty() ? evidence_of(*attempt->report.verdict) : nullptr;
  if (evidence != nullptr)
    profile.message = "under the profiler the submission ended as " +
                      std::string(to_string(name_of(*attempt->report.verdict))) + ": " + evidence->message;
  if (attempt && profile.tool.empty() && run.time.left_ms(sys::monotonic_now_ms()) == 0)
    profile.message = "the profiler had not ended when the " + limit + " for the run were over";
  profile.ms = sys::monotonic_now_ms() - start_ms;
  return profile;
}

// The backend `cuda` needs no audit: its child runs kq's launcher, which makes no streams, and no host code of the
// submission.
bool Lane::is_audited(const Submission& submission) const {
  return options_.audits && device_.kind == DeviceKind::cuda && submission.backend != Backend::cuda;
}

// Reads the audit of an attempt that has passed. The attempt's verdict becomes `rejected` if the audit shows a
// violation. Returns which kernels ran, where CUPTI has watched a call.
std::optional<KernelsRan> Lane::audit(const Lease& lease, Attempt& passed) {
  const Trials& trials = lease.submission.trials;
  // The least number of calls: timed calls may end early, and decoys and repeated calls come on top.
  const std::uint32_t calls = trials.correctness + trials.warmup + std::min(trials.timed, kTimedSamplesMin);
  const std::string home = std::filesystem::path(options_.zygote.python).parent_path().parent_path();
  const AuditReport report =
      read_audit(passed.audit, calls, home, {.streams = trials.streams, .graphs = trials.graphs});
  if (report.is_on) passed.sandbox += ",audit";
  audit_off_reason_ = report.off;
  if (report.rejection) passed.report.verdict = ended(VerdictName::rejected, *report.rejection);
  if (report.rejection) return std::nullopt;
  auto ran = read_kernels(passed.audit, home);
  if (!ran) return std::nullopt;
  const bool ran_own = std::ranges::count(ran->kernels, KernelOwner::submission, &RanKernel::owner) > 0;
  ran->is_decoy = !ran_own && ran->left_out == 0 && brings_kernels(lease);
  ran->are_own_wanted = passed.report.wants_own_kernels;
  return ran;
}

bool Lane::is_interpreted(const Submission& submission) const {
  return device_.kind == DeviceKind::cpu && submission.backend == Backend::triton;
}

Limits Lane::limits_for(const Lease& lease) const {
  Limits limits = options_.limits;
  // torch.compile compiles in the first call, which may take as long as a load.
  if (may_use_compiler(lease)) limits.first_launch_limit_ms = limits.load_limit_ms;
  if (is_interpreted(lease.submission)) limits.timed_budget_ms = std::min(limits.timed_budget_ms, kInterpretedBudgetMs);
  return limits;
}

// Finds the place in the submission's files that the evidence is about, and adds hints that need the device.
void Lane::explain(Ended& ended, const Submission& submission, const std::string& log) const {
  Evidence& evidence = ended.evidence;
  if (evidence.place.empty()) evidence.place = message_place(evidence.message, submission.files);
  if (evidence.place.empty() && ended.name == VerdictName::crashed) evidence.place = crash_place(log, submission.files);
  if (ended.name == VerdictName::timed_out && evidence.hint.empty() && is_interpreted(submission))
    evidence.hint =
        "without a GPU Triton interprets the kernel, which takes a thousand times as long: use a worker with a GPU";
}

// Makes one attempt, and a second one if the first failed for a reason that does not lie in the job: the device's
// memory was short while children that wait or are being reaped, or the reference of the last problem, had some of it;
// or a child was killed by something that is not kq. After a shortage no child waits beside the second attempt. A
// second kill counts as the child's own doing, because a child can kill itself.
Expected<Lane::Attempt> Lane::attempt(Run& run) {
  const bool has_former = reference_ && !has_reference_for(run.lease);
  auto attempt = attempt_once(run);
  const bool has_started = failed_judges_ == 0 && failed_zygotes_ == 0;
  const bool may_try_again = !run.stop.stop_requested() && !aborted_ && !quarantine() && has_started;
  const bool had_too_little = attempt && is_short_of_device_memory(*attempt->report.verdict, device_.kind);
  const bool was_short = attempt ? had_too_little && attempt->memory != OtherMemory::none : has_former && may_try_again;
  const bool was_killed = attempt && may_try_again && killed_externally_ && is_death_of_child(*attempt->report.verdict);
  if (!was_short && !was_killed) return attempt;
  if (was_short) children_->keep_waiting(false);
  children_->wait_until_reaped();
  auto second = second_attempt(run, std::move(attempt), was_short);
  if (was_short) children_->keep_waiting(true);
  return second;
}

Expected<Lane::Attempt> Lane::second_attempt(Run& run, Expected<Attempt> first, bool was_short) {
  const std::int64_t now_ms = sys::monotonic_now_ms();
  const bool has_all = run.time.left_ms(now_ms) == run.time.limit_ms();
  if (run.time.has_room(now_ms, 0)) {
    auto again = attempt_once(run);
    if (!again || has_all || !has_timed_out(again->report)) return again;
  } else if (!first) {
    return first;
  }
  // Children that wait have a hundredth of a large device's memory each, so the first verdict is likely to be right.
  if (first && was_short && first->memory == OtherMemory::of_waiting) return first;
  // This is an Error and no verdict: the job is not charged for the shortage or the kill, nor for the time lost by
  // them.
  const std::string reason = was_short ? "the device's memory was short while other children gave some back"
                                       : "a process of the job was killed from outside";
  return our_fault(reason + ", and the " + limit_text(run.time.limit_ms()) + " for the run left no time to try again");
}

Expected<std::optional<Lane::Attempt>> Lane::another_attempt(Run& run, std::int64_t expected_ms) {
  if (!run.time.has_room(sys::monotonic_now_ms(), expected_ms)) return std::optional<Attempt>();
  auto attempt = this->attempt(run);
  if (!attempt && !quarantine() && run.time.left_ms(sys::monotonic_now_ms()) == 0) return std::optional<Attempt>();
  if (!attempt) return failure(attempt.error());
  // A timeout in the time that earlier attempts left says nothing about the submission.
  if (has_timed_out(attempt->report)) return std::optional<Attempt>();
  return std::optional(std::move(*attempt));
}

Expected<Lane::Attempt> Lane::attempt_once(Run& run, ChildRole role) {
  if (run.stop.stop_requested()) return our_fault("stopped before it began");
  KQ_TRY(check_quarantine());
  KQ_TRY_VALUE(auto* const judge, this->judge());
  KQ_TRY(this->zygote());
  // Asks the pool to kill no child. The judge clears the flag when the trials begin.
  const channel::ScopedMark preparing(device_.kind == DeviceKind::cuda ? &*warm_ups_ : nullptr,
                                      &channel::WarmUpPage::set_preparing, true);
  KQ_TRY_VALUE(auto children, take_children(run, role));
  LaneChild& submission = children.submission;
  Attempt attempt{.report = {},
                  .software = submission.zygote->software(),
                  .sandbox = submission.zygote->sandbox(),
                  .log = {},
                  .audit = {},
                  .conditions = {},
                  .memory = other_memory()};

  // From here on the judge decides.
  auto report = judge_children(run, role, children, *judge);

  // The conditions are read while the children exist and the device is as warm as the trials left it.
  if (report) attempt.conditions = health_->conditions(judge_process());
  if (report && role == ChildRole::profile) attempt.profile = finish_profile(run, submission);
  const sys::Fd audit = std::move(submission.audit);
  attempt.log = children_->retire(std::move(submission));
  if (audit) attempt.audit = read_available(audit);
  if (!report || !report->reference_usable) drop_reference();
  if (!report || !report->verdict) drop_calibrators();
  check_drivers();
  KQ_TRY(check_quarantine());
  if (!report) {
    end_judge();  // its state is unknown; the next job gets a new judge
    return failure(report.error());
  }
  if (run.stop.stop_requested()) return our_fault("stopped");
  if (!report->verdict) return our_fault("the judge could not finish: " + report->error);
  attempt.report = std::move(*report);
  return attempt;
}

// On a CPU children that wait have no memory that a job would need.
Lane::OtherMemory Lane::other_memory() const {
  if (children_->is_reaping()) return OtherMemory::of_reaped;
  return device_.kind == DeviceKind::cuda && children_->keeps_any() ? OtherMemory::of_waiting : OtherMemory::none;
}

// Takes a child for the submission. Also takes a calibrator of the same kind, and a reference for the problem, where
// the lane does not keep them from an earlier attempt.
Expected<Lane::AttemptChildren> Lane::take_children(const Run& run, ChildRole role) {
  const Lease& lease = run.lease;
  const ChildKind kind = kind_of(lease.submission.backend, device_.kind);
  std::optional<LaneChild>& calibrator = calibrators_[static_cast<std::size_t>(kind)];
  const bool fresh_calibrator = !calibrator || !is_child_alive(*calibrator);
  if (fresh_calibrator) {
    drop(calibrator);
    KQ_TRY_VALUE(auto child, children_->take(ChildRole::calibrator, kind, lease, nullptr));
    calibrator.emplace(std::move(child));
  }
  const bool fresh_reference = !has_reference_for(lease);
  auto submission = [&]() -> Expected<LaneChild> {
    if (fresh_reference) {
      KQ_TRY(replace_reference(lease));
    }
    return children_->take(role, kind, lease, &run.built);
  }();
  if (!submission) {
    // The judge does not have the channels of the fresh children.
    if (fresh_calibrator) drop(calibrator);
    if (fresh_reference) drop_reference();
    return failure(submission.error());
  }
  return AttemptChildren{.calibrator = &*calibrator,
                         .reference = &reference_->child,
                         .submission = std::move(*submission),
                         .fresh_calibrator = fresh_calibrator,
                         .fresh_reference = fresh_reference};
}

Expected<void> Lane::replace_reference(const Lease& lease) {
  // An immediate kill of the old reference would block the driver while the new one loads.
  if (reference_) children_->retire_when_quiet(std::move(reference_->child));
  reference_.reset();
  KQ_TRY_VALUE(auto child, children_->take(ChildRole::reference, kind_of_references(device_.kind), lease, nullptr));
  const Problem& problem = lease.submission.problem;
  reference_.emplace(Reference{problem.hash, problem.file, problem.precision, std::move(child)});
  return {};
}

Plan Lane::plan_for(const Run& run, ChildRole role, const AttemptChildren& children) {
  const Submission& submission = run.lease.submission;
  const bool is_profiled = role == ChildRole::profile;
  const Limits limits = limits_for(run.lease);
  return {.id = ++plans_,
          .fresh_calibrator = children.fresh_calibrator,
          .calibrator = static_cast<std::uint32_t>(kind_of(submission.backend, device_.kind)),
          .fresh_reference = children.fresh_reference,
          .backend = submission.backend,
          .trials = is_profiled ? profile_trials() : submission.trials,
          .rtol = submission.problem.rtol,
          .atol = submission.problem.atol,
          .limits = is_profiled ? profile_limits(limits) : limits,
          .workloads = submission.problem.workloads,
          .truth = submission.truth,
          .certifies = !options_.certificates.empty() && !run.certificate && !is_profiled,
          .constant_passes = run.certificate && constant_passes(*run.certificate)};
}

// Gives the judge the plan and the channels that it does not have yet, and waits for its report.
Expected<Report> Lane::judge_children(Run& run, ChildRole role, AttemptChildren& children, JudgeLink& judge) {
  std::vector<int> channels;
  if (children.fresh_calibrator) channels.push_back(children.calibrator->channel.get());
  if (children.fresh_reference) channels.push_back(children.reference->channel.get());
  channels.push_back(children.submission.channel.get());
  KQ_TRY(judge.send_plan(plan_for(run, role, children), channels));
  for (LaneChild* child : {children.calibrator, children.reference, &children.submission}) child->channel = sys::Fd();
  run.time.begin(sys::monotonic_now_ms());
  return wait_for_report(children, role, run.time, run.stop);
}

// Waits until the profiler has written its report. The profiled process ends by itself, because its judge is done.
Profile Lane::finish_profile(const Run& run, LaneChild& submission) {
  const std::int64_t now_ms = sys::monotonic_now_ms();
  const std::int64_t end_ms = now_ms + std::min(kProfileEndLimitMs, run.time.left_ms(now_ms));
  const auto is_running = [&] {
    const auto exit = submission.zygote->wait(submission.id, kProfilePollMs);
    return exit && !*exit;
  };
  while (is_running() && sys::monotonic_now_ms() < end_ms && !is_overflowing(submission.scratch.out())) {
  }
  return collect_profile(submission.scratch.out(), options_.profiles, run.lease);
}

// Waits for the judge's report. Meanwhile tells the judge which children have ended, and ends the attempt at its
// deadline. A submission that is stopped or whose time is over is killed: the judge then ends the plan as for any child
// that died, and keeps its device and its reference for the next job. gpu_worker/core/deadlines.h says which verdict
// follows.
Expected<Report> Lane::wait_for_report(AttemptChildren& children, ChildRole submission_role, const RunTime& time,
                                       const std::stop_token& stop) {
  LaneChild& submission = children.submission;
  bool stopped = false;
  bool killed = false;
  killed_externally_ = false;
  std::int64_t deadline_ms = sys::monotonic_now_ms() + time.left_ms(sys::monotonic_now_ms());
  for (;;) {
    KQ_TRY_VALUE(auto report, judge_->report(kPollMs));
    if (report) {
      if (report->id != plans_) return our_fault("the judge answered another plan");
      return killed && !stopped ? report_after_kill(std::move(*report), state_after_kill(submission), time.limit_ms())
                                : std::move(*report);
    }
    for (auto [child, role] :
         {std::pair{children.calibrator, ChildRole::calibrator}, std::pair{children.reference, ChildRole::reference},
          std::pair{&submission, ChildRole::submission}}) {
      if (child->exit_reported) continue;
      KQ_TRY_VALUE(const auto status, child->zygote->wait(child->id, 0));
      if (!status) continue;
      child->exit_reported = true;
      killed_externally_ = killed_externally_ || (is_killed_externally(*status) && !(killed && child == &submission));
      KQ_TRY(judge_->send_child_exit({role, *status}));
      if (killed && child == &submission) deadline_ms = sys::monotonic_now_ms() + kStopLimitMs;
    }
    if (aborted_) return our_fault("the worker is ending");
    if (!stopped && stop.stop_requested()) {
      stopped = true;
      if (killed) deadline_ms = std::min(deadline_ms, sys::monotonic_now_ms() + kStopLimitMs);
    }
    const bool is_over = sys::monotonic_now_ms() > deadline_ms;
    if (killed && is_over) {
      end_judge();  // it still works on this plan; the next job gets a new judge
      if (stopped) return our_fault("stopped");
      return report_without_answer(plans_, state_after_kill(submission), time.limit_ms());
    }
    if (!killed &&
        (stopped || is_over || (submission_role == ChildRole::profile && is_overflowing(submission.scratch.out())))) {
      killed = true;
      submission.zygote->kill(submission.id);
      deadline_ms = sys::monotonic_now_ms() + (stopped || submission.exit_reported ? kStopLimitMs : kGoneLimitMs);
    }
  }
}

// Keeps the first reason. An aborted lane is never quarantined, because its children die with the zygote.
void Lane::set_quarantine(const std::string& reason) {
  const std::lock_guard lock(quarantine_mutex_);
  if (!quarantine_ && !aborted_)
    quarantine_ = (device_.uuid.empty() ? device_.model : device_.model + " " + device_.uuid) + ": " + reason;
}

// Fails if the lane is quarantined, or if its children are a reason to quarantine it now.
Expected<void> Lane::check_quarantine() {
  if (const auto reason = children_->failure_reason()) set_quarantine(*reason);
  if (const auto reason = quarantine()) return our_fault("quarantined " + *reason);
  return {};
}

std::optional<std::string> Lane::quarantine() const {
  const std::lock_guard lock(quarantine_mutex_);
  return quarantine_;
}

}  // namespace kq::worker
