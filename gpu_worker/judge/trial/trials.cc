#include "gpu_worker/judge/trial/trials.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/timing/timed_interval.h"

namespace kq::judge {
namespace {

// Returns whether the outlier filter has kept most calls. Where it has not, its choice of outliers is unreliable.
bool is_majority(const CallTimes& kept, const CallTimes& all) {
  return all.size() == 0 || 2 * kept.size() > all.size();
}

}  // namespace

std::int64_t call_limit_ms(const Limits& limits, std::int64_t reference_ns) {
  return limits.call_limit_ms +
         static_cast<std::int64_t>(limits.call_limit_factor * static_cast<double>(reference_ns) / 1e6);
}

Evidence early_evidence(std::uint32_t trial) {
  Evidence found = evidence(
      Stage::judge, "async",
      "the submission reported a call as done before the GPU could have begun it, in trial " + std::to_string(trial));
  found.rule = "early";
  found.hint = "a call must compute its outputs on the GPU, before it returns";
  return found;
}

TrialRun::TrialRun(Device& device, ReferenceSide& reference, SubmissionSide& submission, const Plan& plan,
                   const Draw& draw, Sampling sampling)
    : device_(device),
      reference_(reference),
      submission_(submission),
      plan_(plan),
      draw_(draw),
      sampling_(sampling),
      kinds_left_(make_schedule(plan.trials, draw)) {
  const auto correctness = std::ranges::count(kinds_left_, TrialKind::correctness);
  watched_ = draw_watched(static_cast<std::uint32_t>(correctness), draw);
  voids_max_ = kVoidTrialsMax + kinds_left_.size() / kTrialsPerVoid;
}

void TrialRun::trust_reference(std::int64_t reference_ns) {
  is_reference_trusted_ = true;
  reference_ns_ = reference_ns;
}

Step<void> TrialRun::make_ahead_while(const std::function<bool()>& has_time) {
  while (reference_.trial_ns() <= kCommandNsMax && has_time()) {
    KQ_TRY_VALUE(const auto made,
                 reference_.make_ahead(
                     plan_, draw_ahead(kinds_left_.size() - std::min(kinds_left_.size(), reference_.ahead()))));
    if (made == 0) break;
  }
  return {};
}

Step<TimedTrials> TrialRun::run() {
  ConcurrentWarmUps* const warm_ups = device_.concurrent_warm_ups();
  untimed_.emplace(warm_ups == nullptr ? nullptr : &warm_ups->page(), &channel::WarmUpPage::set_untimed, true);
  const auto ran = run_all();
  untimed_.reset();
  reference_.settle();
  if (!ran) return tl::unexpected(ran.error());
  return std::move(times_);
}

Step<void> TrialRun::run_all() {
  std::optional<Trial> trial = next();
  if (const auto begun = begin(*trial); !begun) return begun;
  while (trial) {
    if (const auto ready = finish_preparation(*trial); !ready) return ready;
    const auto observed = outputs_change_.observe(
        device_, InputCopies(reference_.expected_outputs(), reference_.layout().outputs), reference_.outputs());
    if (!observed) return stop(observed.error());
    trial->warm_ups = look_at_warm_ups();
    KQ_TRY_VALUE(const auto called, submission_.call(plan_, submission_trial(*trial)));
    if (sampling_ == Sampling::alike && trial->is_timed()) count_busy_tasks();
    if (const auto seen = observe_constants(called); !seen) return seen;
    if (const auto started = submission_.begin_check(plan_, submission_trial(*trial), called); !started) return started;
    const TrialOutcome outcome = classify(*trial, called);
    if (outcome == TrialOutcome::counts) record(*trial, called);
    auto following = outcome == TrialOutcome::again ? repeat(*trial) : next();
    const bool is_free = !reference_.is_kept_in_place();
    auto begun = following && is_free ? begin(*following) : Step<void>();
    // The trial's inputs and expected outputs stay valid until finish_preparation() of the following trial.
    if (const auto right = submission_.check(plan_, submission_trial(*trial), called); !right) return right;
    if (following && !is_free) begun = begin(*following);
    if (outcome == TrialOutcome::too_many_voids) {
      return stop(VerdictName::rejected,
                  called.is_early ? early_evidence(trial->number) : void_evidence(*trial, called.occupancy_gap_ns));
    }
    if (!begun) return begun;
    trial = following;
  }
  return {};
}

Step<void> TrialRun::observe_constants(const SubmissionSide::CallResult& called) {
  if (!plan_.constant_passes) return {};
  const auto observed = constants_.observe(device_, reference_, submission_.copied_outputs(), called.outputs);
  return observed ? Step<void>() : stop(observed.error());
}

std::optional<TrialRun::Trial> TrialRun::next() {
  // Only slow calls end the timed trials early. Trials that check outputs are all run.
  const bool has_enough = times_.submission.size() >= kTimedSamplesMin && missing_references() == 0;
  const bool is_enough = has_enough && timed_ns() > plan_.limits.timed_budget_ms * 1e6;
  if (is_enough)
    std::erase_if(kinds_left_, [](TrialKind kind) { return kind == TrialKind::timed || kind == TrialKind::decoy; });
  if (kinds_left_.empty()) kinds_left_.assign(drop_outliers(is_enough), TrialKind::timed);
  if (kinds_left_.empty()) return std::nullopt;
  auto chosen = kinds_left_.begin();
  if (*chosen == TrialKind::timed && is_warm_up_running()) {
    const auto untimed = std::ranges::find_if(kinds_left_, [](TrialKind kind) { return kind != TrialKind::timed; });
    if (untimed != kinds_left_.end()) chosen = untimed;
  }
  if (*chosen != TrialKind::warm && must_warm()) {
    if (steady_trials_++ == 0) steady_since_ns_ = clock_ns();
    untimed_.reset();
    Trial trial = make(TrialKind::warm);
    trial.is_for_steadiness = trial.times_reference = true;
    return trial;
  }
  const TrialKind kind = *chosen;
  kinds_left_.erase(chosen);
  Trial trial = make(kind);
  if (kind == TrialKind::correctness) trial.is_watched = std::ranges::count(watched_, correctness_count_++) > 0;
  return trial;
}

TrialRun::Trial TrialRun::repeat(const Trial& trial) {
  Trial again = make(trial.kind);
  again.is_watched = trial.is_watched;
  return again;
}

TrialRun::Trial TrialRun::make(TrialKind kind) {
  if (kind == TrialKind::timed || kind == TrialKind::decoy) untimed_.reset();
  if (kind == TrialKind::timed && must_avoid_warm_ups() && is_warm_up_running()) device_.concurrent_warm_ups()->wait();
  Trial trial{.number = next_number_++,
              .kind = kind,
              .seeds = {},
              .poison = poison_word(draw_()),
              .slot_draw = kind == TrialKind::warm ? next_number_ : draw_()};
  trial.times_reference = (trial.number == 0 && reference_ns_ == 0) || (trial.is_timed() && times_reference());
  trial.is_ahead = reference_.next_ahead_seeds() != nullptr;
  trial.seeds = trial.is_ahead ? *reference_.next_ahead_seeds() : draw_seeds();
  return trial;
}

SubmissionSide::Trial TrialRun::submission_trial(const Trial& trial) const {
  return {.number = trial.number,
          .seed = trial.seeds.calls,
          .poison = trial.poison,
          .slot_draw = trial.slot_draw,
          .limit_ms = call_limit_ms(plan_.limits, reference_ns_),
          .launch_limit_ms = trial.number == 0 ? plan_.limits.first_launch_limit_ms : 0,
          .is_watched = trial.is_watched};
}

Step<void> TrialRun::begin(Trial& trial) {
  if (!trial.is_ahead) {
    std::vector<Seeds> seeds = draw_ahead(1 + kinds_left_.size());
    seeds.front() = trial.seeds;
    KQ_TRY_VALUE(const auto begun, seeds.size() > 1 ? reference_.begin_ahead(plan_, seeds) : 0);
    trial.is_ahead = begun > 0;
  }
  // The timed call of the reference computes the expected outputs itself.
  if (!trial.is_ahead && trial.times_reference) reference_.begin_inputs(plan_, trial.seeds);
  if (!trial.is_ahead && !trial.times_reference) reference_.begin_trial(plan_, trial.seeds);
  if (trial.is_staged_early()) submission_.begin_staging(submission_trial(trial));
  return {};
}

Step<void> TrialRun::finish_preparation(const Trial& trial) {
  const auto answer = [&] { return trial.times_reference ? reference_.finish_inputs() : reference_.finish_trial(); };
  if (const auto made = trial.is_ahead ? reference_.finish_ahead() : answer(); !made) return made;
  if (trial.is_ahead) reference_.use_next_ahead();
  if (const auto observed = inputs_change_.observe(device_, reference_.input_copies(), reference_.inputs()); !observed)
    return stop(observed.error());
  if (trial.is_staged_early()) return submission_.finish_staging(submission_trial(trial));
  const auto timed = trial.times_reference ? time_reference(trial) : Step<void>();
  if (!timed) return timed;
  if (trial.number == 0 && !is_reference_trusted_) {
    if (const auto agreed = reference_.check_determinism(plan_, trial.seeds.calls); !agreed) return agreed;
  }
  submission_.begin_staging(submission_trial(trial));
  return submission_.finish_staging(submission_trial(trial));
}

// A sample during which another process had the device is dropped; the next timed trial times the reference again.
// Where too few samples would be left, the call is repeated here, after the warm-up if one runs.
Step<void> TrialRun::time_reference(const Trial& trial) {
  ConcurrentWarmUps::Seen warm_ups = look_at_warm_ups();
  auto called = reference_.time_trial(plan_, trial.seeds);
  bool is_sample = trial.is_timed() && called && !is_void(called->occupancy_gap_ns);
  bool during_warm_up = ran_during_warm_up(warm_ups);
  if (called && trial.is_timed() && !is_sample) {
    if (!during_warm_up && ++void_count_ > voids_max_)
      return stop(VerdictName::rejected, void_evidence(trial, called->occupancy_gap_ns));
    const bool is_last = std::cmp_less(std::ranges::count(kinds_left_, TrialKind::timed), missing_references());
    if (missing_references() > 0 && (is_last || (during_warm_up && called->interval_ns > kReferenceLongNs))) {
      if (during_warm_up) device_.concurrent_warm_ups()->wait();
      warm_ups = look_at_warm_ups();
      called = reference_.time_trial(plan_, trial.seeds);
      during_warm_up = ran_during_warm_up(warm_ups);
      is_sample = true;
    }
  }
  if (!called) return tl::unexpected(called.error());
  if (trial.is_for_steadiness) steady_reference_.add(called->interval_ns);
  if (is_sample) times_.reference.add(called->interval_ns, called->event_ns, during_warm_up, called->slowness);
  reference_ns_ = sample_ns(called->interval_ns, submission_.overhead().median_ns);
  return {};
}

// Returns how many of the reference's first samples are still missing.
std::size_t TrialRun::missing_references() const {
  const std::size_t wanted = std::min<std::size_t>(first_references_, plan_.trials.timed);
  return wanted - std::min(wanted, times_.reference.size());
}

// Returns the time of all timed calls, estimated from their median: one very slow call must not end the timed trials
// early.
double TrialRun::timed_ns() const {
  const auto& intervals_ns = times_.submission.intervals_ns;
  return static_cast<double>(intervals_ns.size()) *
         (summarise(intervals_ns).median_ns - submission_.overhead().median_ns);
}

// Draws seeds for the trials of one command: at most `wanted`, and as many as the reference computes in kCommandNsMax.
std::vector<Seeds> TrialRun::draw_ahead(std::size_t wanted) const {
  const std::int64_t trial_ns = reference_.trial_ns();
  const auto in_time = trial_ns == 0 ? 1 : std::max<std::int64_t>(kCommandNsMax / trial_ns, 1);
  std::vector<Seeds> seeds(std::min({wanted, static_cast<std::size_t>(in_time), std::size_t{channel::kAnswersMax}}));
  std::ranges::generate(seeds, [this] { return draw_seeds(); });
  return seeds;
}

TrialRun::TrialOutcome TrialRun::classify(const Trial& trial, const SubmissionSide::CallResult& called) {
  if (called.is_inconclusive) return TrialOutcome::again;
  if (trial.is_timed() && must_avoid_warm_ups() && ran_during_warm_up(trial.warm_ups) &&
      ++warm_up_repeats_ <= kWarmUpRepeatsMax)
    return TrialOutcome::again;
  if (!called.is_early && !is_void(called.occupancy_gap_ns)) return TrialOutcome::counts;
  if (ran_during_warm_up(trial.warm_ups)) {
    // The concurrent warm-up may be the reason.
    if (!trial.is_timed()) return TrialOutcome::counts;
    if (++warm_up_repeats_ <= kWarmUpRepeatsMax) return TrialOutcome::again;
    device_.concurrent_warm_ups()->wait();
    if (!is_warm_up_running()) return TrialOutcome::again;
  }
  return ++void_count_ > voids_max_ ? TrialOutcome::too_many_voids : TrialOutcome::again;
}

Evidence TrialRun::void_evidence(const Trial& trial, std::int64_t occupancy_gap_ns) {
  Evidence found = evidence(Stage::judge, "async",
                            "for " + std::to_string(occupancy_gap_ns / 1000) +
                                " us before a call the GPU did work of another process than the judge, in trial " +
                                std::to_string(trial.number));
  found.rule = "quiet";
  found.hint = "nothing may run on the GPU between calls: no kernel may go on, and no thread may launch one";
  return found;
}

bool TrialRun::is_warm_up_running() const {
  return device_.concurrent_warm_ups() != nullptr && device_.concurrent_warm_ups()->any();
}

ConcurrentWarmUps::Seen TrialRun::look_at_warm_ups() const {
  return device_.concurrent_warm_ups() == nullptr ? ConcurrentWarmUps::Seen() : device_.concurrent_warm_ups()->look();
}

bool TrialRun::ran_during_warm_up(const ConcurrentWarmUps::Seen& before) const {
  return device_.concurrent_warm_ups() != nullptr && device_.concurrent_warm_ups()->has_run_since(before);
}

// Drops samples that are outliers or were measured while the memory was slow. Returns how many timed trials must be
// repeated.
std::size_t TrialRun::drop_outliers(bool is_enough) {
  const std::size_t slow_count = drop_slow();
  return std::max({slow_count, drop_reference_outliers(), drop_call_outliers(is_enough)});
}

// Drops the samples of either side of which most were measured while the memory was slow.
std::size_t TrialRun::drop_slow() {
  const bool are_calls = had_slow_memory(times_.submission, kSlowShare);
  const bool are_references = had_slow_memory(times_.reference, kSlowReferenceShare);
  if ((!are_calls && !are_references) || std::exchange(has_waited_for_memory_, true)) return 0;
  (void)device_.await_quick_memory(kSlowMemoryLimitNs);  // a device that fails here fails in the next trial as well
  const std::size_t call_count = are_calls ? times_.submission.size() : 0;
  if (are_calls) times_.submission = {};
  if (are_references) times_.reference = {};
  return std::max(call_count, missing_references());
}

std::size_t TrialRun::drop_reference_outliers() {
  CallTimes kept = reference_without_outliers(times_.reference);
  const bool is_inconclusive = kept.size() < std::min(kReferencesMin, times_.reference.size());
  if (is_inconclusive && std::exchange(has_repeated_references_, true)) return 0;
  times_.reference = std::move(kept);
  if (!is_inconclusive) return 0;
  device_.concurrent_warm_ups()->wait();
  return missing_references();
}

std::size_t TrialRun::drop_call_outliers(bool is_enough) {
  CallTimes kept = without_outliers(times_.submission);
  const bool is_inconclusive = !is_majority(kept, times_.submission);
  if (is_inconclusive && std::exchange(has_repeated_all_, true)) return 0;
  if (is_inconclusive) kept = {};
  const std::size_t dropped = times_.submission.size() - kept.size();
  if (dropped == 0) return 0;
  times_.submission = std::move(kept);
  warm_up_repeats_ += static_cast<std::uint32_t>(dropped);
  if (is_inconclusive || warm_up_repeats_ > kWarmUpRepeatsMax) device_.concurrent_warm_ups()->wait();
  const bool are_few = times_.submission.size() < std::min<std::size_t>(kTimedSamplesMin, plan_.trials.timed);
  return !is_enough || are_few ? dropped : 0;
}

void TrialRun::record(const Trial& trial, const SubmissionSide::CallResult& called) {
  if (trial.is_for_steadiness) steady_submission_.add(called.interval_ns);
  // Some timed trials are repeated for the reference's sake only.
  if (!trial.is_timed() || times_.submission.size() == plan_.trials.timed) return;
  const bool during_warm_up = ran_during_warm_up(trial.warm_ups);
  times_.submission.add(called.interval_ns, called.event_ns, during_warm_up, called.slowness);
}

}  // namespace kq::judge
