#include "gpu_worker/judge/workloads.h"

#include <algorithm>
#include <cmath>

namespace kq::judge {
namespace {

constexpr std::size_t kNamesShownMax = 8;
constexpr std::uint32_t kTimedBudgetMsMin = 50;

// Adds logarithms of times, weighted. A weight of 0 leaves a time out. The mean of no positive times is 0.
class GeometricMean {
 public:
  void add(double value, double weight) {
    if (weight == 0) return;
    is_positive_ = is_positive_ && value > 0;
    if (value > 0) logs_ += weight * std::log(value);
    weights_ += weight;
  }
  double value() const { return is_positive_ && weights_ > 0 ? std::exp(logs_ / weights_) : 0; }

 private:
  double logs_ = 0;
  double weights_ = 0;
  bool is_positive_ = true;
};

double mean_of(std::span<const CaseResult> cases, auto&& figure) {
  GeometricMean mean;
  for (const CaseResult& one : cases) mean.add(figure(*measurement_of(one.verdict)), one.weight);
  return mean.value();
}

Statistics statistics_of(std::span<const CaseResult> cases, Statistics Measurement::*side) {
  const auto mean = [&](double Statistics::*figure) {
    return mean_of(cases, [&](const Measurement& measurement) { return measurement.*side.*figure; });
  };
  Statistics statistics{.median_ns = mean(&Statistics::median_ns),
                        .mean_ns = mean(&Statistics::mean_ns),
                        .min_ns = mean(&Statistics::min_ns),
                        .max_ns = mean(&Statistics::max_ns)};
  for (const CaseResult& one : cases) statistics.sample_count += (measurement_of(one.verdict)->*side).sample_count;
  return statistics;
}

// Returns the noise of a weighted geometric mean: the shares of the noises, weighted, added as squares. Returns 0,
// which is unknown, where a case has too few samples or no time.
double noise_of_all(std::span<const CaseResult> cases, double (*noise)(const Measurement&),
                    Statistics Measurement::*side, double mean_ns) {
  double weights = 0;
  double squares = 0;
  for (const CaseResult& one : cases) {
    if (one.weight <= 0) continue;
    const Measurement& measurement = *measurement_of(one.verdict);
    const double share = one.weight * noise(measurement) / (measurement.*side).median_ns;
    weights += one.weight;
    squares += share * share;
  }
  const double noise_ns = weights > 0 ? mean_ns * std::sqrt(squares) / weights : 0;
  return std::isfinite(noise_ns) ? noise_ns : 0;
}

Measurement measurement_of_all(std::span<const CaseResult> cases) {
  const auto mean = [&](double Measurement::*figure) {
    return mean_of(cases, [&](const Measurement& measurement) { return measurement.*figure; });
  };
  const auto is_timed = [](const CaseResult& one) { return one.weight > 0; };
  const auto first_timed = std::ranges::find_if(cases, is_timed);
  Measurement all{.method = measurement_of((first_timed == cases.end() ? cases.front() : *first_timed).verdict)->method,
                  .submission = statistics_of(cases, &Measurement::submission),
                  .reference = statistics_of(cases, &Measurement::reference),
                  .overhead_ns = mean(&Measurement::overhead_ns),
                  .attested_ns = mean(&Measurement::attested_ns),
                  .event_ns = mean(&Measurement::event_ns),
                  .burst_ns = mean(&Measurement::burst_ns)};
  all.noise_ns = noise_of_all(cases, &submission_noise_ns, &Measurement::submission, all.submission.median_ns);
  all.reference_noise_ns = noise_of_all(cases, &reference_noise_ns, &Measurement::reference, all.reference.median_ns);
  for (const CaseResult& one : cases) {
    const Measurement& measurement = *measurement_of(one.verdict);
    all.busy_tasks = std::max(all.busy_tasks, measurement.busy_tasks);
    all.is_noisy = all.is_noisy || measurement.is_noisy;
  }
  for (const CaseResult& one : cases) {  // the drift has a sign, so the largest one stands for all
    const double drift_ns = measurement_of(one.verdict)->drift_ns;
    if (std::abs(drift_ns) > std::abs(all.drift_ns)) all.drift_ns = drift_ns;
  }
  return all;
}

Correctness correctness_of_all(std::span<const CaseResult> cases) {
  Correctness all = *correctness_of(cases.front().verdict);
  for (const CaseResult& one : cases.subspan(1)) add(all, *correctness_of(one.verdict));
  return all;
}

}  // namespace

bool fits_pattern(std::string_view text, std::string_view pattern) {
  // On a mismatch the last * takes one more byte of the text.
  std::size_t at = 0, in = 0, star = std::string_view::npos, star_at = 0;
  while (at < text.size()) {
    if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at]) && pattern[in] != '*') {
      ++at, ++in;
    } else if (in < pattern.size() && pattern[in] == '*') {
      star = in++, star_at = at;
    } else if (star != std::string_view::npos) {
      in = star + 1, at = ++star_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

Step<std::vector<std::uint32_t>> selected(std::span<const WorkloadRow> workloads,
                                          std::span<const Workload> selections) {
  std::vector<std::uint32_t> indices;
  std::string names;
  for (std::uint32_t i = 0; i < workloads.size(); ++i) {
    const bool is_selected = std::ranges::any_of(selections, [&](const Workload& selection) {
      return selection.name == kDefaultWorkload || fits_pattern(workloads[i].name, selection.name);
    });
    if (is_selected) indices.push_back(i);
    if (i < kNamesShownMax) names += (i == 0 ? "" : ", ") + workloads[i].name;
  }
  if (!indices.empty()) return indices;
  std::string wanted;
  for (const Workload& selection : selections) wanted += (wanted.empty() ? "" : ", ") + selection.name;
  return stop(VerdictName::problem_invalid, evidence(Stage::load, "workloads",
                                                     "the problem has no workload " + wanted + "; it has " + names +
                                                         (workloads.size() > kNamesShownMax ? ", ..." : "")));
}

Plan check_plan(const Plan& plan, std::size_t count) {
  Plan check = plan;
  if (plan.trials.timed > 0) {
    const auto share = static_cast<std::uint32_t>(std::uint64_t{plan.trials.correctness} * kTimedCallsFactor / count);
    check.trials.correctness = std::min(plan.trials.correctness, std::max(share, kCheckedCallsMin));
  }
  check.trials.warmup = 0;
  check.trials.timed = 0;
  check.trials.baseline = Baseline::eager;  // outputs are compared with the eager reference
  return check;
}

Plan timing_plan(const Plan& plan, std::size_t count) {
  const auto share = [&](std::uint32_t all) {
    return static_cast<std::uint32_t>(std::uint64_t{all} * kTimedCallsFactor / count);
  };
  Plan timing = plan;
  timing.trials.correctness = 0;
  timing.trials.warmup = std::min(plan.trials.warmup, 1u);  // the calls that checked the workload have warmed it
  timing.trials.timed = std::min(plan.trials.timed, std::max(share(plan.trials.timed), kTimedSamplesMin));
  timing.limits.timed_budget_ms = std::max(share(plan.limits.timed_budget_ms), kTimedBudgetMsMin);
  if (count > 1 && plan.limits.bursts == Bursts::doubt) timing.limits.bursts = Bursts::never;
  return timing;
}

void add(Correctness& correctness, const Correctness& other) {
  correctness.trials_passed += other.trials_passed;
  correctness.max_abs_err = std::max(correctness.max_abs_err, other.max_abs_err);
  correctness.max_rel_err = std::max(correctness.max_rel_err, other.max_rel_err);
  const bool is_farther =
      other.truth && (!correctness.truth || other.truth->submission_rms > correctness.truth->submission_rms);
  if (is_farther) correctness.truth = other.truth;
}

std::string in_workload(const std::string& workload, const std::string& message) {
  return "workload " + workload + ": " + message;
}

Verdict combine(std::span<const CaseResult> cases) {
  for (const CaseResult& one : cases) {
    const auto* const ended = std::get_if<Ended>(&one.verdict);
    if (ended == nullptr) continue;
    Ended first = *ended;
    first.evidence.message = in_workload(one.workload, first.evidence.message);
    return first;
  }
  Measurement measurement = measurement_of_all(cases);
  const Correctness correctness = correctness_of_all(cases);
  for (const CaseResult& one : cases) {
    const auto* const suspect = std::get_if<Suspect>(&one.verdict);
    if (suspect == nullptr) continue;
    Evidence evidence = suspect->evidence;
    evidence.message = in_workload(one.workload, evidence.message);
    return Suspect{std::move(measurement), correctness, std::move(evidence)};
  }
  return Passed{std::move(measurement), correctness};
}

}  // namespace kq::judge
