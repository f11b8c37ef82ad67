#include "gpu_worker/lane.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gpu_worker/limit.h"
#include "net/clock.h"

namespace kq {
namespace {

constexpr std::uint64_t kScratchBytes = 1ull << 30;  // of a child's /tmp and work
// The deadlines of taking a child down, step by step: it is killed, and with its namespace all that it started; its control group is
// frozen, killed and empty (harness/cgroup.py, EMPTY_LIMIT_S); its scratch is gone; the device has its memory back. The judge asks the
// device after every plan whether it still answers. What misses one of them is quarantined.
constexpr std::int64_t kReapLimitMs = 10'000;        // SIGKILL of a process with an endless kernel takes 82 ms until reaped
constexpr std::int64_t kMemoryBackLimitMs = 5'000;
constexpr std::int64_t kStopLimitMs = 1'000;         // for the judge to notice that a killed submission is gone
constexpr std::int64_t kLogLimitMs = 1'000;
constexpr std::uint32_t kBurstBelowNs = 20'000;      // what the judge's clock is off by, a microsecond or so, is too much beside these
constexpr std::int64_t kLookMs = 5;                  // how often the lane looks for exits while the judge works

// Every single call kept its limit, all of them together did not. What the judge said once the submission was gone tells of its children.
Report too_slow(Report report, std::int64_t limit_ms) {
  report.error.clear();
  report.samples = {};
  report.disagreement.clear();
  report.verdict = ended(VerdictName::timed_out, {.stage = Stage::run,
                                                  .reason = "total",
                                                  .message = "all trials together took longer than " + limit_text(limit_ms),
                                                  .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
  return report;
}

std::uint32_t uid_offset(ChildRole role) {
  static_assert(kUidsPerLane == 3);
  return role == ChildRole::reference ? 0 : role == ChildRole::submission ? 1 : 2;
}

Verdict tampered(const std::string& disagreement) {
  return ended(VerdictName::rejected, {.stage = Stage::judge,
                                       .reason = "tamper",
                                       .message = disagreement + ", twice in fresh processes",
                                       .hint = "leave CUDA events and clocks of the process alone",
                                       .rule = "clock", .place = {}, .mismatch = {}});
}

// A time of Triton's interpreter says nothing of a kernel: a few samples of it are enough.
constexpr std::uint32_t kInterpretedBudgetMs = 200;

// Calls of an audited child: the streams of a submission are made when it loads or is first called.
constexpr std::uint32_t kAuditWarmupMax = 2;
constexpr std::uint32_t kAuditCorrectness = 1;

Trials audit_trials(const Trials& trials) {
  return {.correctness = kAuditCorrectness, .warmup = std::min(trials.warmup, kAuditWarmupMax), .timed = 0};
}

// Everything that decides what an audit sees: what runs, on which inputs, in which software.
Hash audited_content(const Lease& lease, const Software& software) {
  const Submission& submission = lease.submission;
  std::string all(to_string(submission.backend));
  for (const SourceFile& file : submission.files) all += "\n" + file.name + " " + to_hex(file.hash);
  all += "\n" + to_hex(submission.problem.hash) + " " + std::string(to_string(submission.problem.precision)) + "\n" + software.torch + "\n" + software.triton;
  return sha256(all);
}

// Neither end blocks: what finds no room is dropped by who writes, who is the submission's child.
Expected<std::pair<Fd, Fd>> pipe_for_lines() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return our_fault("pipe for an audit failed");
  return std::pair{Fd(ends[0]), Fd(ends[1])};
}

// What a pipe holds now, and no more: a descriptor that escaped must not hold the lane.
std::string content_of(const Fd& pipe) {
  std::string text(64u << 10, '\0');
  const ssize_t n = ::read(pipe.get(), text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

// It passed when nobody listened and did not when somebody did: kept with its figures, for people to look at.
Verdict only_unwatched(const Verdict& passed, const Verdict& audited) {
  const Evidence* const why = evidence_of(audited);
  std::string message = "it passed, but ended as " + std::string(to_string(name_of(audited))) + " when it was audited";
  if (why != nullptr && !why->message.empty()) message += ": " + why->message;
  return Suspect{*measurement_of(passed), *correctness_of(passed),
                 {.stage = Stage::judge,
                  .reason = "audit",
                  .message = std::move(message),
                  .hint = "do the same work whoever looks on; a profiler inside of a submission cannot work",
                  .rule = "audit", .place = {}, .mismatch = {}}};
}

}  // namespace

Expected<std::unique_ptr<Lane>> Lane::open(LaneOptions options) {
  std::unique_ptr<Lane> lane(new Lane(std::move(options)));
  const auto judge = lane->judge();
  if (!judge) return failure(judge.error());
  lane->device_ = (*judge)->device();
  if (lane->options_.device == DeviceKind::cuda && lane->options_.bursts) lane->options_.limits.burst_below_ns = kBurstBelowNs;
  const LaneOptions& given = lane->options_;
  auto watch = given.watch ? given.watch(lane->device_) : given.device == DeviceKind::cuda ? watch_gpu(lane->device_.uuid) : nullptr;
  lane->cleanliness_ = std::make_unique<Cleanliness>(std::move(watch));
  const auto zygote = lane->zygote();
  if (!zygote) return failure(zygote.error());
  return lane;
}

Lane::~Lane() {
  drop_calibrator();
  drop_reference();
}

void Lane::abort() {
  aborted_ = true;
  const std::lock_guard lock(zygote_mutex_);
  if (zygote_) zygote_->stop();
}

void Lane::drop_calibrator() {
  if (calibrator_) reap(std::move(*calibrator_));
  calibrator_.reset();
}

void Lane::drop_reference() {
  if (reference_) reap(std::move(reference_->child));
  reference_.reset();
}

Expected<std::shared_ptr<Zygote>> Lane::zygote() {
  const std::lock_guard lock(zygote_mutex_);
  if (aborted_) return our_fault("the worker is leaving");
  if (!zygote_ || !zygote_->alive()) {
    zygote_.reset();
    auto started = Zygote::start(options_.zygote);
    if (!started) return failure(started.error());
    zygote_ = std::move(*started);
  }
  return zygote_;
}

Expected<JudgeLink*> Lane::judge() {
  if (!judge_ || !judge_->alive()) {
    drop_calibrator();  // a new judge knows no old child
    drop_reference();
    judge_.reset();
    auto started = JudgeLink::start(options_.judge_program, options_.device, options_.index);
    if (!started) return failure(started.error());
    judge_ = std::move(*started);
  }
  return judge_.get();
}

bool Lane::has_reference_for(const Lease& lease) const {
  return reference_ && reference_->child.zygote->alive() && reference_->problem == lease.submission.problem.hash &&
         reference_->precision == lease.submission.problem.precision;
}

// Once more in a fresh child where the clock of the submission's process and the judge's cannot both be right: a machine may be disturbed
// once, a forged clock is so every time.
Expected<Result> Lane::run(const Lease& lease, const Built& built, std::stop_token stop) {
  const std::int64_t start_ms = monotonic_now_ms();
  auto attempt = this->attempt(lease, built, stop, Purpose::judge);
  if (attempt && !attempt->report.disagreement.empty()) {
    attempt = this->attempt(lease, built, stop, Purpose::judge);
    if (attempt && !attempt->report.disagreement.empty()) attempt->report.verdict = tampered(attempt->report.disagreement);
  }
  if (!attempt) return failure(attempt.error());
  // Device code is launched by our own program, which makes no streams. What does not pass needs no audit, which costs a child and a context.
  const bool is_audited = options_.audits && device_.kind == DeviceKind::cuda && lease.submission.backend != Backend::cuda &&
                          passed_in(*attempt);
  if (is_audited) {
    if (const auto audited = audit(lease, built, stop, *attempt); !audited) return failure(audited.error());
  }

  Report& report = attempt->report;
  const bool is_passed = name_of(*report.verdict) == VerdictName::passed;
  Result result{.verdict = std::move(*report.verdict),
                .device = device_,
                .worker = options_.worker,
                .times = {.build_ms = built.ms, .build_cached = built.cached, .run_ms = monotonic_now_ms() - start_ms, .trials_us = report.trials_us},
                .software = std::move(attempt->software),
                .sandbox = std::move(attempt->sandbox),
                .log = std::move(attempt->log),
                .samples = is_passed ? std::move(report.samples) : Samples()};  // figures of wrong answers are kept nowhere
  result.toolchain = built.toolchain;
  result.conditions = std::move(attempt->conditions);
  return result;
}

// Behind the timed child, so that most wrong submissions never come here: the same again in a fresh child that CUPTI listens to.
Expected<void> Lane::audit(const Lease& lease, const Built& built, const std::stop_token& stop, Attempt& passed) {
  const Hash content = audited_content(lease, passed.software);
  auto known = audited_.find(content);
  if (!known) {
    auto attempt = this->attempt(lease, built, stop, Purpose::audit);
    // What ends it may be chance; twice it is not.
    if (attempt && !passed_in(*attempt)) attempt = this->attempt(lease, built, stop, Purpose::audit);
    if (!attempt) return failure(attempt.error());
    const bool has_passed = passed_in(*attempt);
    const Trials trials = audit_trials(lease.submission.trials);
    const std::string home = std::filesystem::path(options_.zygote.python).parent_path().parent_path();
    known = read_audit(attempt->audit, has_passed ? trials.correctness + trials.warmup : 0, home);
    if (known->is_on && !known->rejection && !has_passed) {
      passed.report.verdict = only_unwatched(*passed.report.verdict, *attempt->report.verdict);
      return {};
    }
    if (known->is_on) audited_.keep(content, *known);
  }
  if (known->is_on) passed.sandbox += ",audit";
  if (known->rejection) passed.report.verdict = ended(VerdictName::rejected, *known->rejection);
  return {};
}

Limits Lane::limits_for(const Submission& submission) const {
  Limits limits = options_.limits;
  if (device_.kind == DeviceKind::cpu && submission.backend == Backend::triton) {
    limits.timed_budget_ms = std::min(limits.timed_budget_ms, kInterpretedBudgetMs);
  }
  return limits;
}

Expected<Lane::Attempt> Lane::attempt(const Lease& lease, const Built& built, const std::stop_token& stop, Purpose purpose) {
  if (stop.stop_requested()) return our_fault("stopped before it began");
  if (quarantine_) return our_fault("quarantined " + *quarantine_);
  auto judge = this->judge();
  if (!judge) return failure(judge.error());

  // The children that are kept: a new one each where there is none, and a reference of its own for every problem.
  Fd calibrator_channel;
  Fd reference_channel;
  const bool fresh_calibrator = !has_calibrator();
  if (fresh_calibrator) {
    drop_calibrator();
    auto child = fork(ChildRole::calibrator, lease, nullptr, calibrator_channel);
    if (!child) return failure(child.error());
    calibrator_.emplace(std::move(*child));
  }
  const bool fresh_reference = !has_reference_for(lease);
  if (fresh_reference) {
    drop_reference();
    auto child = fork(ChildRole::reference, lease, nullptr, reference_channel);
    if (child) reference_.emplace(Reference{lease.submission.problem.hash, lease.submission.problem.precision, std::move(*child)});
    if (!child) {
      if (fresh_calibrator) drop_calibrator();
      return failure(child.error());
    }
  }

  // The submission child: new for every attempt.
  Fd submission_channel;
  std::pair<Fd, Fd> audit;
  if (purpose == Purpose::audit) {
    auto made = pipe_for_lines();
    if (!made) return failure(made.error());
    audit = std::move(*made);
  }
  auto submission = fork(ChildRole::submission, lease, &built, submission_channel, audit.second.get());
  if (!submission) {
    // The judge never got to know these.
    if (fresh_calibrator) drop_calibrator();
    if (fresh_reference) drop_reference();
    return failure(submission.error());
  }

  // From here on the judge decides.
  std::vector<int> channels;
  if (fresh_calibrator) channels.push_back(calibrator_channel.get());
  if (fresh_reference) channels.push_back(reference_channel.get());
  channels.push_back(submission_channel.get());
  const Plan plan{.id = ++plans_,
                  .fresh_calibrator = fresh_calibrator,
                  .fresh_reference = fresh_reference,
                  .backend = lease.submission.backend,
                  .trials = purpose == Purpose::audit ? audit_trials(lease.submission.trials) : lease.submission.trials,
                  .rtol = lease.submission.problem.rtol,
                  .atol = lease.submission.problem.atol,
                  .limits = limits_for(lease.submission)};
  auto report = [&]() -> Expected<Report> {
    if (const auto begun = (*judge)->begin(plan, channels); !begun) return failure(begun.error());
    calibrator_channel = Fd();
    reference_channel = Fd();
    submission_channel = Fd();
    return await(*submission, limit_of(lease.submission, options_.attempt_limit_ms), stop);
  }();

  Attempt attempt{.report = {}, .software = submission->zygote->software(), .sandbox = submission->zygote->sandbox(), .log = {}, .audit = {}};
  // While all is there still, and as warm as the trials left it.
  if (report && purpose == Purpose::judge) attempt.conditions = cleanliness_->conditions(judge_process());
  attempt.log = reap(std::move(*submission));
  if (purpose == Purpose::audit) attempt.audit = content_of(audit.first);
  if (!report || !report->reference_usable) drop_reference();
  if (!report || !report->verdict) drop_calibrator();
  if (const auto complaint = cleanliness_->complaint(kMemoryBackLimitMs)) quarantine_for(*complaint);
  if (quarantine_) return our_fault("quarantined " + *quarantine_);
  if (!report) {
    judge_.reset();  // whatever state it is in: the next job gets a new one
    return failure(report.error());
  }
  if (stop.stop_requested()) return our_fault("stopped");
  if (!report->verdict) return our_fault("the judge could not finish: " + report->error);
  attempt.report = std::move(*report);
  return attempt;
}

Expected<Lane::Child> Lane::fork(ChildRole role, const Lease& lease, const Built* built, Fd& channel, int audit) {
  const bool is_submission = role == ChildRole::submission;
  const std::uint32_t uid = options_.first_uid == 0 ? 0 : options_.first_uid + uid_offset(role);
  auto living = zygote();
  if (!living) return failure(living.error());
  auto scratch = Scratch::make(options_.scratch, std::string(to_string(role)), uid);
  if (!scratch) return failure(scratch.error());
  if (role != ChildRole::calibrator) {
    if (const auto put = put_sources(*scratch, lease, is_submission); !put) return failure(put.error());
  }
  if (built != nullptr) {
    if (const auto put = scratch->put_all(built->dir); !put) return failure(put.error());
  }
  auto log = LogPump::open();
  if (!log) return failure(log.error());
  auto ends = packet_pair();
  if (!ends) return failure(ends.error());
  const auto id = (*living)->fork({.role = role,
                                   .backend = lease.submission.backend,
                                   .dir = scratch->dir(),
                                   .uid = uid,
                                   .entry = is_submission ? lease.submission.files.front().name : std::string(),
                                   .problem = problem_file(lease),
                                   .precision = lease.submission.problem.precision,
                                   .arch = device_.arch,
                                   .host_bytes = options_.limits.host_bytes_max,
                                   .scratch_bytes = kScratchBytes,
                                   .window_bytes = options_.limits.window_bytes_max,
                                   .audit = audit >= 0},
                                  log->second.get(), ends->second.get(), audit);
  if (!id) return failure(id.error());
  channel = std::move(ends->first);
  log->second = Fd();
  return Child{*living, *id, std::move(*scratch), std::move(log->first)};
}

// Passes on who died while the judge works, and holds the attempt to its limit. A submission that is stopped, or whose time is over, is
// killed: its judge then ends the plan as for any that died, and keeps its device and its reference for the next.
Expected<Report> Lane::await(Child& submission, std::int64_t limit_ms, const std::stop_token& stop) {
  bool stopped = false;
  bool killed = false;
  std::int64_t deadline_ms = monotonic_now_ms() + limit_ms;
  for (;;) {
    auto report = judge_->report(kLookMs);
    if (!report) return failure(report.error());
    if (*report) {
      if ((*report)->id != plans_) return our_fault("the judge answered another plan");
      return killed && !stopped ? too_slow(std::move(**report), limit_ms) : std::move(**report);
    }
    for (auto [child, role] : {std::pair{&*calibrator_, ChildRole::calibrator}, std::pair{&reference_->child, ChildRole::reference},
                               std::pair{&submission, ChildRole::submission}}) {
      if (child->exit_told) continue;
      const auto status = child->zygote->wait(child->id, 0);
      if (!status) return failure(status.error());
      if (!*status) continue;
      child->exit_told = true;
      if (const auto told = judge_->tell({role, **status}); !told) return failure(told.error());
    }
    if (aborted_) return our_fault("the worker is leaving");
    stopped = stopped || stop.stop_requested();
    const bool is_over = monotonic_now_ms() > deadline_ms;
    if (killed && is_over) {
      judge_.reset();  // it is in the middle of this plan; the next job gets a new one
      if (stopped) return our_fault("stopped");
      Report unsaid;
      unsaid.id = plans_;
      return too_slow(std::move(unsaid), limit_ms);
    }
    if (!killed && (stopped || is_over)) {
      killed = true;
      submission.zygote->kill(submission.id);
      deadline_ms = monotonic_now_ms() + kStopLimitMs;
    }
  }
}

// Kills, waits until nothing of it is left, and returns what it printed.
std::string Lane::reap(Child child) {
  child.zygote->kill(child.id);
  const auto exit = child.zygote->wait(child.id, kReapLimitMs);
  if (exit && !*exit) quarantine_for("a child is there " + std::to_string(kReapLimitMs / 1000) + " s after it was killed");
  if (const int left = child.zygote->left_by(child.id); left > 0) {
    quarantine_for(std::to_string(left) + " processes of a child would not be killed");
  }
  child.zygote->forget(child.id);
  std::string log = child.log.finish(kLogLimitMs);
  if (const auto removed = child.scratch.remove(); !removed) quarantine_for(removed.error().message);
  return log;
}

// The first reason stays. A worker that is leaving kills its zygote under its children, and looks at nothing any more.
void Lane::quarantine_for(const std::string& why) {
  if (!quarantine_ && !aborted_) quarantine_ = (device_.uuid.empty() ? device_.model : device_.model + " " + device_.uuid) + ": " + why;
}

}  // namespace kq
