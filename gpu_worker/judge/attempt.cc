#include "gpu_worker/judge/attempt.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <span>
#include <utility>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/timing/published_time.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/burst.h"
#include "gpu_worker/judge/trial/certificate.h"
#include "gpu_worker/judge/workloads.h"
#include "sys/cores.h"

namespace kq::judge {
namespace {

std::vector<std::int64_t> samples_of(std::span<const std::int64_t> intervals_ns, double overhead_ns) {
  std::vector<std::int64_t> samples(intervals_ns.size());
  std::ranges::transform(intervals_ns, samples.begin(),
                         [&](std::int64_t interval_ns) { return sample_ns(interval_ns, overhead_ns); });
  return samples;
}

Statistics statistics_of(std::span<const std::int64_t> samples_ns, double median_ns) {
  Statistics statistics = summarise(samples_ns);
  statistics.median_ns = median_ns;
  return statistics;
}

// Returns evidence where a call is quicker than the device can write its largest output. Every call must write its
// outputs, because their memory holds poison before the call.
std::optional<Evidence> below_floor(const Device& device, const Layout& layout, double median_ns) {
  std::uint64_t bytes = 0;
  for (const Tensor& output : layout.tables.outputs) bytes = std::max(bytes, output.bytes);
  const double floor_ns = device.write_floor_ns(bytes);
  if (median_ns >= floor_ns) return std::nullopt;
  char text[160];
  std::snprintf(text, sizeof text,
                "a call takes %.1f us, but writing an output of %s takes at least %.1f us on this device",
                median_ns / 1e3, format_bytes(bytes).c_str(), floor_ns / 1e3);
  Evidence found = evidence(Stage::judge, "floor", text);
  found.hint = "each call must write all of its outputs; it must not return what an earlier call has left in memory";
  return found;
}

Evidence unchanged_inputs() {
  Evidence found =
      evidence(Stage::judge, std::string(kSameInputs),
               "the problem gives the same inputs to every call, so a submission may return outputs that it has kept");
  found.hint = "get_inputs() must draw from torch's generators, without a seed or generator of its own";
  return found;
}

// Evidence against a submission that returns one constant, where the problem cannot tell that from a right kernel.
Evidence constant_submission() {
  return evidence(Stage::judge, "constant",
                  "the submission returned the same outputs in every trial, although those of the reference changed by "
                  "less than the tolerance");
}

// Returns whether the reference failed, or had no memory left, which may be due to the memory that a kept reference
// holds.
bool is_reference_failure(const Ended& ended) {
  return ended.name == VerdictName::problem_invalid || ended.name == VerdictName::too_large;
}

// Returns for how long in its life this thread was ready to run but had no processor, in microseconds (proc(5), the
// second number). Returns 0 where the kernel does not report that.
std::int64_t queued_us() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;
  file >> ran_ns >> waited_ns;
  return waited_ns / 1'000;
}

}  // namespace

Report Judge::run(const Plan& plan, Channels channels) {
  Report report;
  report.id = plan.id;
  const channel::ScopedMark timed(warm_up_page(), &channel::WarmUpPage::set_untimed, false);
  auto verdict = attempt(plan, std::move(channels), report);
  auto* const ended = verdict ? nullptr : std::get_if<Ended>(&verdict.error());
  if (verdict) {
    report.verdict = std::move(*verdict);
  } else if (ended != nullptr && !plan.fresh_reference && is_reference_failure(*ended)) {
    // The child has served this problem before. Whatever broke it since then, a fresh child decides whether the problem
    // is at fault.
    report.error = "a kept reference child failed: " + ended->evidence.message;
  } else if (ended != nullptr) {
    report.verdict = std::move(*ended);
  } else {
    report.error = std::get<Error>(verdict.error()).message;
    calibrators_.clear();
  }
  // After a failure that another attempt must repeat with a fresh reference, this one is not kept for that attempt.
  const bool may_be_kept = report.verdict && (ended == nullptr || !is_reference_failure(*ended));
  report.reference_usable = may_be_kept && reference_ && reference_->usable();
  if (!report.reference_usable) reference_.reset();
  return report;
}

void Judge::make_ahead(const Plan& last) {
  ahead_.reset();
  if (reference_ && !layouts_.empty()) ahead_ = SubmissionMemory::make_ahead(device_, layouts_, last);
}

channel::WarmUpPage* Judge::warm_up_page() const {
  return device_.concurrent_warm_ups() == nullptr ? nullptr : &device_.concurrent_warm_ups()->page();
}

void Judge::begin(Preparing& preparing) const {
  preparing.emplace(warm_up_page(), &channel::WarmUpPage::set_preparing, true);
}

// Starts the calibrator and the reference where they are fresh, and loads the reference: its model, window and state.
Step<Verdict> Judge::attempt(const Plan& plan, Channels channels, Report& report) {
  const std::uint64_t seed = draw_();  // seeds the constructors of both models
  Preparing preparing;
  begin(preparing);
  KQ_TRY(open_children(plan, channels));
  std::optional<channel::ScopedMark> untimed(std::in_place, warm_up_page(), &channel::WarmUpPage::set_untimed, true);
  auto layout = reference_->describe(plan, seed);
  untimed.reset();
  const bool has_several = reference_->workloads().size() > 1;
  if (!layout && (!has_several || !reference_->usable())) return tl::unexpected(layout.error());
  KQ_TRY_VALUE(auto workloads, selected(reference_->workloads(), plan.workloads));
  if (has_several)
    return judge_several(plan, seed, std::move(workloads), std::move(channels.submission), preparing, report);
  return judge_one(plan, seed, std::move(*layout), std::move(channels.submission), preparing, report);
}

Step<Verdict> Judge::judge_one(const Plan& plan, std::uint64_t seed, Layout layout, sys::Fd channel,
                               Preparing& preparing, Report& report) {
  layouts_ = {layout};
  KQ_TRY(reference_->use(plan, std::move(layout)));
  Plan certified = plan;
  if (plan.certifies) {
    ProblemCertificate certificate;
    KQ_TRY(certify(device_, *reference_, plan, draw_, {}, certificate));
    KQ_TRY(apply(std::move(certificate), certified, report));
  }
  KQ_TRY_VALUE(auto submission, SubmissionSide::open(device_, std::move(channel), exits_, wait_mode_, plan, *reference_,
                                                     layouts_, std::exchange(ahead_, std::nullopt)));
  return judge_workload(certified, seed, 0, nullptr, *submission, preparing, report);
}

// Reports a new certificate. Stops where the problem is invalid.
Step<void> Judge::apply(ProblemCertificate certificate, Plan& plan, Report& report) const {
  plan.constant_passes = constant_passes(certificate);
  report.certificate = std::move(certificate);
  if (report.certificate->invalid) return stop(VerdictName::problem_invalid, *report.certificate->invalid);
  return {};
}

// The overhead by the calibrator, which may be as old as this. Without timed trials no overhead is needed.
Step<Overhead> Judge::calibrate(const Plan& plan, const SubmissionSide& submission, std::int64_t age_max_ns) {
  if (plan.trials.timed == 0) return submission.overhead();
  return calibrators_.at(plan.calibrator)->reuse_or_calibrate(touch_bytes_, plan.limits.load_limit_ms, age_max_ns);
}

// Loads the submission for the reference's present workload, runs the trials, and computes the published time. While
// the submission loads, nothing is timed and the reference computes trials ahead.
Step<Verdict> Judge::judge_workload(const Plan& plan, std::uint64_t seed, std::uint32_t workload, const Among* among,
                                    SubmissionSide& submission, Preparing& preparing, Report& report) {
  touch_bytes_ = among != nullptr && among->touch_bytes > 0 ? among->touch_bytes : reference_->layout().bytes();
  KQ_TRY_VALUE(const auto before, calibrate(plan, submission, kCalibrationAgeMaxNs));
  std::optional<channel::ScopedMark> untimed(std::in_place, warm_up_page(), &channel::WarmUpPage::set_untimed, true);
  KQ_TRY(submission.begin_load(plan, seed, workload));
  TrialRun trials(device_, *reference_, submission, plan, draw_, sampling_);
  if (among != nullptr) trials.share_samples(among->workloads);
  if (among != nullptr && among->is_timing) trials.trust_reference(*among->reference_ns);
  const auto made_ahead = trials.make_ahead_while([&] { return submission.is_loading(); });
  KQ_TRY(submission.finish_load());
  if (!made_ahead) return tl::unexpected(made_ahead.error());

  untimed.reset();
  preparing.reset();
  report.wants_own_kernels = reference_->wants_own_kernels();

  // Every output of every kind of trial is checked.
  const std::int64_t first_trial_ns = clock_ns();
  const std::int64_t queued_before_us = queued_us();
  const auto times = trials.run();
  const std::int64_t trials_us = (clock_ns() - first_trial_ns) / 1'000;
  const std::int64_t waited_us = queued_us() - queued_before_us;
  report.trials_us += trials_us;
  report.waited_us += waited_us;
  if (!times) return tl::unexpected(times.error());
  if (among != nullptr) *among->reference_ns = trials.reference_ns();
  if (among == nullptr || among->is_last) KQ_TRY(submission.check_runs_nothing());
  begin(preparing);
  KQ_TRY_VALUE(const auto after, calibrate(plan, submission, among == nullptr ? 0 : kCalibrationAgeAmongNs));
  preparing.reset();

  // All outputs were right.
  if (trials.outputs_are_constant()) {
    // The trials have compared pieces of the outputs only.
    KQ_TRY_VALUE(const bool is_constant, reference_->repeats_outputs(plan, {.inputs = draw_(), .calls = draw_()}));
    if (is_constant) return stop(VerdictName::problem_invalid, constant_outputs());
  }
  KQ_TRY_VALUE(auto measurement, measure(plan, submission, *times, before, after, report));
  measurement.is_noisy = plan.trials.timed > 0 && is_noisy(*times, waited_us, trials_us);
  if (reference_->has_forbidden()) {
    KQ_TRY(reference_->make_trial(plan, {.inputs = draw_(), .calls = draw_()}));
    KQ_TRY(submission.inspect(plan, draw_()));
  }
  const Correctness& correctness = submission.correctness();
  auto suspicion = submission.suspicion();
  if (!suspicion && plan.trials.timed > 0)
    suspicion = below_floor(device_, reference_->layout(), measurement.submission.median_ns);
  if (!suspicion && plan.trials.timed > 0 && trials.inputs_never_changed()) suspicion = unchanged_inputs();
  if (!suspicion && trials.submission_is_constant()) suspicion = constant_submission();
  if (suspicion) return Suspect{std::move(measurement), correctness, std::move(*suspicion)};
  return Passed{std::move(measurement), correctness};
}

// Computes the samples and the published time, with bursts where these are needed. `before` and `after` are the
// overheads that the calibrator has measured before and after the trials.
Step<Measurement> Judge::measure(const Plan& plan, SubmissionSide& submission, const TimedTrials& times,
                                 const Overhead& before, const Overhead& after, Report& report) {
  const double drift_ns = after.median_ns - before.median_ns;
  const double calibrated_ns = std::min(
      common_overhead_ns({submission.overhead().median_ns, before.median_ns, after.median_ns}), kOverheadMaxNs);
  const CallTimes& reference_calls = times.reference;
  const double overhead_ns =
      sampling_ == Sampling::alike
          ? overhead_within_calls_ns(calibrated_ns, reference_calls.intervals_ns, reference_calls.events_ns)
          : calibrated_ns;
  report.samples = {samples_of(times.submission.intervals_ns, overhead_ns),
                    samples_of(times.reference.intervals_ns, overhead_ns)};
  PublishedTime published = published_time(report.samples.submission_ns, times.submission.events_ns, drift_ns);
  double burst_ns = 0;
  if (plan.limits.bursts == Bursts::always || (plan.limits.bursts == Bursts::doubt && published.is_event_implausible)) {
    const std::int64_t first_burst_ns = clock_ns();
    const auto call_ns = burst_call_ns(plan, submission, times);
    report.trials_us += (clock_ns() - first_burst_ns) / 1'000;
    if (!call_ns) return tl::unexpected(call_ns.error());
    burst_ns = *call_ns;
    published = published_time(report.samples.submission_ns, times.submission.events_ns, drift_ns, burst_ns);
  }
  // A judge that sleeps may be woken late where there are few cores, so its clock proves nothing against the child's.
  if (wait_mode_ == WaitMode::spin && report.disagreement.empty()) report.disagreement = published.clock_mismatch;
  // With Sampling::alike both sides are published by the same rule, so that what lengthens both changes no speedup.
  const std::span<const std::int64_t> references = report.samples.reference_ns;
  const double reference_ns = sampling_ == Sampling::alike
                                  ? published_time(references, times.reference.events_ns, drift_ns).median_ns
                                  : reference_median_ns(references, times.reference.events_ns);
  const double process_noise_share = sampling_ == Sampling::alike ? kProcessNoiseShare : 0;
  const auto known = [&](double noise_ns, double median_ns) {
    return std::isfinite(noise_ns) ? std::max(noise_ns, process_noise_share * median_ns) : 0;
  };
  return Measurement{.method = "attested",
                     .submission = statistics_of(report.samples.submission_ns, published.median_ns),
                     .reference = statistics_of(references, reference_ns),
                     .overhead_ns = overhead_ns,
                     .drift_ns = drift_ns,
                     .attested_ns = published.judge_ns,
                     .event_ns = published.event_ns,
                     .burst_ns = burst_ns,
                     .noise_ns = known(published.noise_ns, published.median_ns),
                     .reference_noise_ns =
                         known(published_noise_ns(references, times.reference.events_ns, reference_ns), reference_ns),
                     .busy_tasks = times.busy_tasks};
}

bool Judge::is_noisy(const TimedTrials& times, std::int64_t waited_us, std::int64_t trials_us) const {
  if (sampling_ == Sampling::sparse) return false;
  return static_cast<double>(waited_us) > kNoisyWaitShare * static_cast<double>(trials_us) ||
         times.busy_tasks >= sys::usable_cores();
}

Step<void> Judge::open_children(const Plan& plan, Channels& channels) {
  if (plan.fresh_calibrator) {
    calibrators_.erase(plan.calibrator);
    KQ_TRY_VALUE(auto opened, Calibrator::open(device_, std::move(channels.calibrator), exits_, wait_mode_));
    calibrators_[plan.calibrator] = std::move(opened);
  }
  if (!calibrators_.contains(plan.calibrator))
    return stop(Error{ErrorKind::our_fault, "the plan needs a calibrator child that the judge does not have"});
  if (plan.fresh_reference) {
    ahead_.reset();  // the device may have no room for both
    reference_.reset();
    KQ_TRY_VALUE(auto opened, ReferenceSide::open(device_, std::move(channels.reference), exits_, wait_mode_, plan));
    reference_ = std::move(opened);
  }
  if (!reference_)
    return stop(Error{ErrorKind::our_fault, "the plan needs a reference child that the judge does not have"});
  return {};
}

// Returns the time of a call from bursts, for calls so short that the error of a single interval matters. Returns 0 for
// other calls, and where bursts are not possible.
Step<double> Judge::burst_call_ns(const Plan& plan, SubmissionSide& submission, const TimedTrials& times) {
  const auto& singles = times.submission.intervals_ns;
  const double overhead_ns = submission.overhead().median_ns;
  // A judge that sleeps may be woken late many times in a burst.
  const bool is_steady = wait_mode_ == WaitMode::spin || device_.info().kind == DeviceKind::cpu;
  const bool may_burst = singles.size() >= kBurstSinglesMin && is_steady;
  if (!may_burst || summarise(singles).median_ns - overhead_ns >= plan.limits.burst_below_ns) return 0;
  KQ_TRY_VALUE(const auto draws, reference_->depends_on_seed(plan, draw_()));
  if (draws) return 0;
  KQ_TRY_VALUE(auto burst, Burst::open(device_, submission, *reference_, plan));
  if (!burst) return 0;
  std::vector<std::int64_t> intervals;
  std::uint32_t early = 0;
  for (std::uint32_t i = 0; i < kBursts + 1; ++i) {
    const std::uint32_t number = static_cast<std::uint32_t>(singles.size()) + i;
    KQ_TRY_VALUE(const auto timed, burst->run(plan, draw_, number, call_limit_ms(plan.limits, 0)));
    if (timed.is_early && ++early > kEarlyBurstsMax) return stop(VerdictName::rejected, early_evidence(number));
    // The first burst is the warm-up. A burst during which another process had the device, or which was done early, is
    // invalid.
    if (timed.is_early || timed.occupancy_gap_ns > submission.overhead().occupancy_gap_ns + kForeignGapNs || i == 0)
      continue;
    intervals.push_back(timed.interval_ns);
  }
  return burst_call_time_ns(intervals, singles);
}

}  // namespace kq::judge
