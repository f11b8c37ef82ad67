#include "gpu_worker/judge/attempt.h"

#include <algorithm>

#include "gpu_worker/judge/bracket.h"

namespace kq::judge {
namespace {

enum class TrialKind { correctness, warmup, timed };

std::vector<TrialKind> schedule(const Trials& trials) {
  std::vector<TrialKind> kinds;
  kinds.insert(kinds.end(), trials.correctness, TrialKind::correctness);
  kinds.insert(kinds.end(), trials.warmup, TrialKind::warmup);
  kinds.insert(kinds.end(), trials.timed, TrialKind::timed);
  if (kinds.empty()) kinds.push_back(TrialKind::correctness);  // nothing passes unchecked
  return kinds;
}

std::int64_t call_limit_ms(const Limits& limits, std::int64_t reference_ns) {
  return limits.call_limit_ms + static_cast<std::int64_t>(limits.call_limit_factor * static_cast<double>(reference_ns) / 1e6);
}

}  // namespace

Report Judge::run(const Plan& plan, std::vector<Fd> channels) {
  Report report;
  report.id = plan.id;
  auto verdict = attempt(plan, std::move(channels), report.samples);
  if (verdict) {
    report.verdict = std::move(*verdict);
  } else if (auto* ended = std::get_if<Ended>(&verdict.error())) {
    report.verdict = std::move(*ended);
  } else {
    report.error = std::get<Error>(verdict.error()).message;
  }
  if (!verdict) report.samples = {};  // figures of wrong answers are kept nowhere

  const bool is_judged = report.verdict && name_of(*report.verdict) != VerdictName::problem_invalid;
  report.reference_usable = is_judged && reference_ && reference_->usable();
  if (!report.reference_usable) reference_.reset();
  return report;
}

Step<Verdict> Judge::attempt(const Plan& plan, std::vector<Fd> channels, Samples& samples) {
  const std::uint64_t seed = draw_();  // of both constructors

  // 1. The reference: its model, its window, its state.
  if (plan.fresh_reference) {
    reference_.reset();
    auto opened = ReferenceSide::open(device_, std::move(channels.front()), exits_, waiting_, plan);
    if (!opened) return tl::unexpected(opened.error());
    reference_ = std::move(*opened);
  }
  if (!reference_) return stop(Error{ExitCode::our_fault, "the plan counts on a reference child that the judge does not have"});
  if (const auto loaded = load_reference(plan, seed); !loaded) return tl::unexpected(loaded.error());

  // 2. The submission: its window, the clock's overhead, then its own code.
  auto submission = SubmissionSide::open(device_, std::move(channels.back()), exits_, waiting_, plan, *reference_);
  if (!submission) return tl::unexpected(submission.error());
  if (const auto loaded = (*submission)->load(plan, seed); !loaded) return tl::unexpected(loaded.error());

  // 3. The trials. Every output of every kind is checked.
  if (const auto ran = run_trials(plan, **submission, samples); !ran) return tl::unexpected(ran.error());

  // 4. It passed.
  return Passed{.measurement = {.method = "bracket",
                                .submission = summarise(samples.submission_ns),
                                .reference = summarise(samples.reference_ns),
                                .overhead_ns = (*submission)->overhead_ns()},
                .correctness = (*submission)->correctness()};
}

Step<void> Judge::load_reference(const Plan& plan, std::uint64_t seed) {
  auto loaded = reference_->load(plan, seed);
  if (loaded || plan.fresh_reference) return loaded;
  // It has loaded this problem before. Whatever ended it since then, a fresh one decides whether the problem is at fault.
  if (auto* ended = std::get_if<Ended>(&loaded.error()); ended != nullptr && ended->name == VerdictName::problem_invalid) {
    return stop(Error{ExitCode::our_fault, "a kept reference child did not load again: " + ended->evidence.message});
  }
  return loaded;
}

Step<void> Judge::run_trials(const Plan& plan, SubmissionSide& submission, Samples& samples) {
  const double overhead_ns = submission.overhead_ns();
  std::uint32_t number = 0;
  std::int64_t timed_ns = 0;
  for (const TrialKind kind : schedule(plan.trials)) {
    const std::uint64_t seed = draw_();
    const auto reference_bracket = reference_->make_trial(plan, draw_(), seed);
    if (!reference_bracket) return tl::unexpected(reference_bracket.error());
    if (number == 0) {
      if (const auto agreed = reference_->agree_with_itself(plan, seed); !agreed) return tl::unexpected(agreed.error());
    }
    const std::int64_t reference_ns = sample_ns(*reference_bracket, overhead_ns);

    const auto bracket = submission.run(plan, {.number = number,
                                               .seed = seed,
                                               .poison = poison_word(draw_()),
                                               .limit_ms = call_limit_ms(plan.limits, reference_ns)});
    if (!bracket) return tl::unexpected(bracket.error());
    if (kind == TrialKind::timed) {
      samples.reference_ns.push_back(reference_ns);
      samples.submission_ns.push_back(sample_ns(*bracket, overhead_ns));
      // Only slowness ends this early: nothing a submission would want.
      timed_ns += samples.submission_ns.back();
      if (samples.submission_ns.size() >= kTimedSamplesMin && timed_ns > plan.limits.timed_budget_ms * 1'000'000LL) break;
    }
    ++number;
  }
  return {};
}

}  // namespace kq::judge
