#include "gpu_worker/judge/attempt.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/timing/published_time.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/burst.h"

namespace kq::judge {
namespace {

std::vector<std::int64_t> samples_of(std::span<const std::int64_t> brackets_ns, double overhead_ns) {
  std::vector<std::int64_t> samples(brackets_ns.size());
  std::ranges::transform(brackets_ns, samples.begin(),
                         [&](std::int64_t bracket_ns) { return sample_ns(bracket_ns, overhead_ns); });
  return samples;
}

Statistics published(std::span<const std::int64_t> samples_ns, double median_ns) {
  Statistics statistics = summarise(samples_ns);
  statistics.median_ns = median_ns;
  return statistics;
}

// Of a time in which nobody could have written the largest output, as each call must: what a call returns holds poison
// before it.
std::optional<Evidence> below_floor(const Device& device, const Layout& layout, double median_ns) {
  std::uint64_t bytes = 0;
  for (const Tensor& output : layout.tables.outputs) bytes = std::max(bytes, output.bytes);
  const double floor_ns = device.write_floor_ns(bytes);
  if (median_ns >= floor_ns) return std::nullopt;
  char text[160];
  std::snprintf(text, sizeof text,
                "%.1f us a call, and to write an output of %s takes the memory of this device %.1f us", median_ns / 1e3,
                amount(bytes).c_str(), floor_ns / 1e3);
  Evidence found = evidence(Stage::judge, "floor", text);
  found.hint = "each call writes all that it returns; what an earlier call has left is no part of it";
  return found;
}

Evidence stale_inputs() {
  Evidence found = evidence(
      Stage::judge, "inputs",
      "the problem gives the same inputs to every call: who keeps what it has returned once need not compute again");
  found.hint = "let get_inputs() draw by torch's generators, with no seed or generator of its own";
  return found;
}

// Whether it is the reference that failed. Where a kept one has no memory left, it may be what it has hoarded.
bool is_of_reference(const Ended& ended) {
  return ended.name == VerdictName::problem_invalid || ended.name == VerdictName::too_large;
}

// How long this thread has been ready and had no processor, in its life (proc(5): the second number); 0 where the
// kernel does not tell.
std::int64_t waited_us() {
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
  auto verdict = attempt(plan, std::move(channels), report);
  auto* const ended = verdict ? nullptr : std::get_if<Ended>(&verdict.error());
  if (verdict) {
    report.verdict = std::move(*verdict);
  } else if (ended != nullptr && !plan.fresh_reference && is_of_reference(*ended)) {
    // It has served this problem before. Whatever ended it since then, a fresh one decides whether the problem is at
    // fault.
    report.error = "a kept reference child failed: " + ended->evidence.message;
  } else if (ended != nullptr) {
    report.verdict = std::move(*ended);
  } else {
    report.error = std::get<Error>(verdict.error()).message;
    calibrators_.clear();
  }
  const bool is_judged = report.verdict && name_of(*report.verdict) != VerdictName::problem_invalid;
  report.reference_usable = is_judged && reference_ && reference_->usable();
  if (!report.reference_usable) reference_.reset();
  return report;
}

void Judge::make_ahead(const Plan& last) {
  ahead_.reset();
  if (reference_) ahead_ = SubmissionMemory::make_ahead(device_, reference_->layout(), last);
}

Step<Verdict> Judge::attempt(const Plan& plan, Channels channels, Report& report) {
  const std::uint64_t seed = draw_();  // of both constructors
  channel::WarmUpPage* const warming = device_.bystanders() == nullptr ? nullptr : &device_.bystanders()->warming();
  std::optional<channel::ScopedPreparing> preparing(warming);

  // 1. The children of our own and the reference: its model, its window, its state.
  KQ_TRY(open_children(plan, channels));
  KQ_TRY(load_reference(plan, seed));

  // 2. The submission: its window, the clock's overhead, then its own code. While that loads nothing is timed, and the
  // reference is ahead.
  KQ_TRY_VALUE(auto submission, SubmissionSide::open(device_, std::move(channels.submission), exits_, waiting_, plan,
                                                     *reference_, std::exchange(ahead_, std::nullopt)));
  // Where nothing is timed, all that counts is whether the outputs are right.
  Calibrator& calibrator = *calibrators_.at(plan.calibrator);
  const auto overhead_by = [&](Step<Overhead> (Calibrator::*how)(std::uint64_t, std::int64_t)) -> Step<Overhead> {
    if (plan.trials.timed == 0) return submission->overhead();
    return (calibrator.*how)(reference_->layout().bytes(), plan.limits.load_limit_ms);
  };
  KQ_TRY_VALUE(const auto before, overhead_by(&Calibrator::recall));
  KQ_TRY(submission->begin_load(plan, seed));
  TrialRun trials(device_, *reference_, *submission, plan, draw_);
  const auto made_ahead = trials.make_ahead_while([&] { return submission->is_loading(); });
  KQ_TRY(submission->finish_load());
  if (!made_ahead) return tl::unexpected(made_ahead.error());

  preparing.reset();

  // 3. The trials. Every output of every kind is checked.
  const std::int64_t first_trial_ns = clock_ns();
  const std::int64_t waited_before_us = waited_us();
  const auto times = trials.run();
  report.trials_us = (clock_ns() - first_trial_ns) / 1'000;
  report.waited_us = waited_us() - waited_before_us;
  if (!times) return tl::unexpected(times.error());
  preparing.emplace(warming);
  KQ_TRY_VALUE(const auto after, overhead_by(&Calibrator::calibrate));
  preparing.reset();

  // 4. It passed: its time.
  const double drift_ns = after.median_ns - before.median_ns;
  const double overhead_ns = std::min(
      common_overhead_ns({submission->overhead().median_ns, before.median_ns, after.median_ns}), kOverheadMaxNs);
  report.samples = {samples_of(times->submission.brackets_ns, overhead_ns),
                    samples_of(times->reference.brackets_ns, overhead_ns)};
  Attested ours = attest(report.samples.submission_ns, times->submission.events_ns, drift_ns);
  double burst_ns = 0;
  if (plan.limits.bursts == Bursts::always || (plan.limits.bursts == Bursts::doubt && ours.is_doubted)) {
    const std::int64_t first_burst_ns = clock_ns();
    const auto share_ns = burst_share(plan, *submission, *times);
    report.trials_us += (clock_ns() - first_burst_ns) / 1'000;
    if (!share_ns) return tl::unexpected(share_ns.error());
    burst_ns = *share_ns;
    ours = attest(report.samples.submission_ns, times->submission.events_ns, drift_ns, burst_ns);
  }
  // A judge that sleeps is woken late where there are few cores, and that is nobody's forgery.
  if (waiting_ == Waiting::spin) report.disagreement = ours.disagreement;
  Measurement measurement{
      .method = "attested",
      .submission = published(report.samples.submission_ns, ours.median_ns),
      .reference = published(report.samples.reference_ns,
                             reference_median_ns(report.samples.reference_ns, times->reference.events_ns)),
      .overhead_ns = overhead_ns,
      .drift_ns = drift_ns,
      .attested_ns = ours.attested_ns,
      .event_ns = ours.event_ns,
      .burst_ns = burst_ns};
  const Correctness& correctness = submission->correctness();
  auto suspicion = submission->suspicion();
  if (!suspicion && plan.trials.timed > 0)
    suspicion = below_floor(device_, reference_->layout(), measurement.submission.median_ns);
  if (!suspicion && plan.trials.timed > 0 && trials.are_inputs_stale()) suspicion = stale_inputs();
  if (suspicion) return Suspect{std::move(measurement), correctness, std::move(*suspicion)};
  return Passed{std::move(measurement), correctness};
}

Step<void> Judge::open_children(const Plan& plan, Channels& channels) {
  if (plan.fresh_calibrator) {
    calibrators_.erase(plan.calibrator);
    KQ_TRY_VALUE(auto opened, Calibrator::open(device_, std::move(channels.calibrator), exits_, waiting_));
    calibrators_[plan.calibrator] = std::move(opened);
  }
  if (!calibrators_.contains(plan.calibrator))
    return stop(Error{ErrorKind::our_fault, "the plan counts on a calibrator that the judge does not have"});
  if (plan.fresh_reference) {
    ahead_.reset();  // there may be no room for both
    reference_.reset();
    KQ_TRY_VALUE(auto opened, ReferenceSide::open(device_, std::move(channels.reference), exits_, waiting_, plan));
    reference_ = std::move(opened);
  }
  if (!reference_)
    return stop(Error{ErrorKind::our_fault, "the plan counts on a reference child that the judge does not have"});
  return {};
}

Step<void> Judge::load_reference(const Plan& plan, std::uint64_t seed) {
  return reference_->load(plan, seed);
}

// Of calls so short that the error of a single interval is much beside them; 0 for others, and where bursts cannot be
// had.
Step<double> Judge::burst_share(const Plan& plan, SubmissionSide& submission, const TimedTrials& times) {
  const auto& singles = times.submission.brackets_ns;
  const double overhead_ns = submission.overhead().median_ns;
  // A judge that sleeps is woken late, again and again.
  const bool is_steady = waiting_ == Waiting::spin || device_.info().kind == DeviceKind::cpu;
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
    // Somebody else had the device, or nobody: it says nothing, and gains nothing.
    if (timed.is_early || timed.absence_ns > submission.overhead().absence_ns + kAbsenceNs || i == 0) continue;
    intervals.push_back(timed.bracket_ns);
  }
  return burst_share_ns(intervals, singles);
}

}  // namespace kq::judge
