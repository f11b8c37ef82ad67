#include "tools/report/compare/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/compare/mann_whitney.h"

namespace kq::tools {
namespace {

std::vector<double> in_us(const std::vector<std::int64_t>& samples_ns, double divisor) {
  std::vector<double> values;
  values.reserve(samples_ns.size());
  for (const std::int64_t ns : samples_ns) values.push_back(static_cast<double>(ns) / 1e3 / divisor);
  return values;
}

std::string version_of(const Result& result) {
  std::string text;
  const auto add = [&](const char* name, const std::string& version) {
    if (!version.empty()) text += (text.empty() ? "" : ", ") + std::string(name) + " " + version;
  };
  add("kq", result.software.kq);
  add("torch", result.software.torch);
  add("triton", result.software.triton);
  add("driver", result.host.driver);
  return text;
}

std::vector<double> samples_of(const KernelResult& side, std::size_t of_case, Metric metric) {
  std::vector<double> values = side.samples_us[of_case];
  if (metric == Metric::speedup && side.reference_us_of_case[of_case] > 0)
    for (double& value : values) value /= side.reference_us_of_case[of_case];
  return values;
}

// Returns the probability that the samples of both sides have one distribution: that of the clearest case, times the
// number of cases.
double p_of(const KernelResult& base, const KernelResult& now, Metric metric) {
  double least = 1;
  const std::size_t case_count = std::min(base.samples_us.size(), now.samples_us.size());
  for (std::size_t i = 0; i < case_count; ++i)
    least = std::min(least, rank_sum_p(samples_of(base, i, metric), samples_of(now, i, metric)));
  return std::min(1.0, least * static_cast<double>(case_count));
}

bool have_times(const ComparedKernel& kernel, const CompareOptions& options) {
  return kernel.change == Change::same && compared_figure(*kernel.base, options.metric) > 0 &&
         compared_figure(*kernel.now, options.metric) > 0;
}

// Returns the change as far as verdicts and places tell it; `same` where times must.
Change by_verdict(const ComparedKernel& kernel, Metric metric) {
  if (kernel.now == nullptr) return Change::missing;
  if (kernel.base == nullptr) return Change::added;
  if (!kernel.base->is_judged || !kernel.now->is_judged) return Change::unfinished;
  if (kernel.base->is_passed != kernel.now->is_passed) return kernel.now->is_passed ? Change::passed : Change::failed;
  if (!kernel.now->is_passed) return Change::failing;
  const bool is_same_place = kernel.base->device == kernel.now->device || metric == Metric::speedup;
  const bool is_same_work =
      kernel.base->problem_hash == kernel.now->problem_hash && kernel.base->precision == kernel.now->precision;
  return is_same_place && is_same_work ? Change::same : Change::incomparable;
}

// Drops versions that only lack the rest of another, because a failed build knows no versions of torch and triton.
std::set<std::string> whole_versions(const std::set<std::string>& versions) {
  std::set<std::string> whole;
  for (const std::string& one : versions) {
    const auto has_more = [&](const std::string& other) { return other.starts_with(one + ","); };
    if (std::ranges::none_of(versions, has_more)) whole.insert(one);
  }
  return whole;
}

// Returns a sentence where less than half of the smaller run has partners in the other, mostly because labels are paths
// below another folder; nothing otherwise.
std::optional<std::string> few_in_common(const Comparison& comparison) {
  std::size_t shared = 0, base_count = 0, count = 0;
  std::map<Hash, const ComparedKernel*> alone_in_base;
  std::set<Hash> base_problems, problems;
  for (const ComparedKernel& kernel : comparison.kernels) {
    shared += kernel.base != nullptr && kernel.now != nullptr ? 1 : 0;
    base_count += kernel.base != nullptr ? 1 : 0;
    count += kernel.now != nullptr ? 1 : 0;
    if (kernel.base != nullptr) base_problems.insert(kernel.base->problem_hash);
    if (kernel.now != nullptr) problems.insert(kernel.now->problem_hash);
    if (kernel.now == nullptr) alone_in_base.emplace(kernel.base->kernel_hash, &kernel);
  }
  if (2 * shared >= std::min(base_count, count)) return std::nullopt;
  std::size_t renamed = 0;
  std::string example;
  for (const ComparedKernel& kernel : comparison.kernels) {
    if (kernel.base != nullptr) continue;
    const auto twin = alone_in_base.find(kernel.now->kernel_hash);
    if (twin == alone_in_base.end() || twin->second->base->problem_hash != kernel.now->problem_hash) continue;
    if (renamed++ == 0) example = twin->second->label + " and " + kernel.label;
  }
  const auto shared_problems = static_cast<std::size_t>(
      std::ranges::count_if(base_problems, [&](const Hash& one) { return problems.contains(one); }));
  std::string text = "The runs have " + producer::counted(shared, "label") + " and " +
                     producer::counted(shared_problems, "problem") + " in common, of " + std::to_string(base_count) +
                     " and " + producer::counted(count, "kernel") + "; ";
  if (renamed > 0)
    text += producer::counted(renamed, "kernel") + (renamed == 1 ? " has" : " have") +
            " the same source under another label, such as " + example + "; ";
  return text + "a label is the path below the folder that was submitted, so submit the same folder for both runs.";
}

// Returns a sentence where kernels that pass in both runs have one and the same job; nothing otherwise.
std::optional<std::string> same_jobs(const Comparison& comparison) {
  std::size_t passing = 0, same = 0;
  for (const ComparedKernel& kernel : comparison.kernels) {
    if (kernel.base == nullptr || kernel.now == nullptr || !kernel.base->is_passed || !kernel.now->is_passed) continue;
    ++passing;
    same += kernel.is_same_job() ? 1 : 0;
  }
  if (same == 0) return std::nullopt;
  return "The times of " + std::to_string(same) + " of " + producer::counted(passing, "kernel") +
         (passing == 1 ? " that passes" : " that pass") +
         " in both runs are of one and the same job, so they were not measured anew; kq submit --force-rerun measures "
         "again.";
}

std::vector<std::string> notes_on(const Comparison& comparison, const CompareOptions& options) {
  std::size_t moved = 0, timed = 0;
  std::set<std::string> base_versions, versions;
  for (const ComparedKernel& kernel : comparison.kernels) {
    if (kernel.base != nullptr && !kernel.base->version.empty()) base_versions.insert(kernel.base->version);
    if (kernel.now != nullptr && !kernel.now->version.empty()) versions.insert(kernel.now->version);
    if (!(kernel.reference_ratio > 0)) continue;
    ++timed;
    moved += std::abs(std::log(kernel.reference_ratio)) > std::log1p(2 * options.change_min) ? 1 : 0;
  }
  std::vector<std::string> notes;
  if (auto few = few_in_common(comparison)) notes.push_back(std::move(*few));
  if (auto same = same_jobs(comparison)) notes.push_back(std::move(*same));
  if (options.metric == Metric::time && timed > 0 && 2 * moved > timed)
    notes.push_back(
        "The times of " + std::to_string(moved) + " of " + producer::counted(timed, "reference") +
        " changed as well, so the machines differ or were busy; --metric speedup compares with the reference "
        "of the same run.");
  base_versions = whole_versions(base_versions);
  versions = whole_versions(versions);
  if (base_versions != versions && !base_versions.empty() && !versions.empty())
    notes.push_back("The runs were made by different versions: " + *base_versions.begin() + "; " + *versions.begin() +
                    ".");
  if (const std::size_t count = comparison.count(Change::incomparable); count > 0)
    notes.push_back("Not compared are the times of " + producer::counted(count, "kernel") +
                    " whose device model, precision or problem differs.");
  return notes;
}

}  // namespace

std::string_view meaning_of(Change change) {
  switch (change) {
    case Change::failed:
      return "passed before and does not pass now";
    case Change::slower:
      return "slower beyond the noise";
    case Change::missing:
      return "only in the base run";
    case Change::passed:
      return "did not pass before and passes now";
    case Change::faster:
      return "faster beyond the noise";
    case Change::added:
      return "only in the new run";
    case Change::same:
      return "passes as before, within the noise";
    case Change::failing:
      return "does not pass, as before";
    case Change::unfinished:
      return "not finished, or ended without being judged, in one of the runs";
    case Change::incomparable:
      return "passes, on another device model, in another precision or against another problem";
  }
  return "";
}

KernelResult kernel_result(const RunRow& row) {
  const Submission& submission = row.entry.submission;
  KernelResult side{.seq = row.job.seq,
                    .outcome = row.result ? outcome_text(row) : std::string(to_string(row.job.state)),
                    .is_judged = row.result && row_of(name_of(row.result->verdict)).terminal,
                    .is_passed = row.result && name_of(row.result->verdict) == VerdictName::passed,
                    .problem = submission.problem.name,
                    .problem_hash = submission.problem.hash,
                    .kernel_hash = submission.files.empty() ? Hash{} : submission.files.front().hash,
                    .author = submission.author,
                    .precision = std::string(to_string(submission.problem.precision))};
  if (!row.result) return side;
  const Result& result = *row.result;
  side.device = result.device.model;
  side.version = version_of(result);
  const Measurement* measurement = measurement_of(result.verdict);
  if (measurement == nullptr) return side;
  side.median_us = measurement->submission.median_ns / 1e3;
  side.reference_us = measurement->reference.median_ns / 1e3;
  side.noise_us = submission_noise_ns(*measurement) / 1e3;
  side.reference_noise_us = reference_noise_ns(*measurement) / 1e3;
  side.is_noisy = measurement->is_noisy;
  const auto add_case = [&](const Samples& samples) {
    side.samples_us.push_back(in_us(samples.submission_ns, 1));
    side.reference_us_of_case.push_back(summarise(samples.reference_ns).median_ns / 1e3);
  };
  if (result.cases.empty()) add_case(result.samples);
  for (const CaseResult& one : result.cases) add_case(one.samples);
  return side;
}

double compared_figure(const KernelResult& side, Metric metric) {
  if (metric == Metric::time) return side.median_us;
  return side.reference_us > 0 ? side.median_us / side.reference_us : 0;
}

bool ComparedKernel::is_regression() const {
  if (change == Change::missing) return base->is_passed;
  return change == Change::failed || change == Change::slower;
}

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(std::count_if(kernels.begin(), kernels.end(),
                                                [&](const ComparedKernel& kernel) { return kernel.change == change; }));
}

std::size_t Comparison::regression_count() const {
  return static_cast<std::size_t>(std::count_if(kernels.begin(), kernels.end(),
                                                [](const ComparedKernel& kernel) { return kernel.is_regression(); }));
}

RegressionFinding regression_finding(const Comparison& comparison) {
  if (comparison.regression_count() > 0) return RegressionFinding::regressed;
  std::size_t passed_count = 0;
  std::size_t compared_count = 0;
  std::size_t measured_count = 0;
  for (const ComparedKernel& kernel : comparison.kernels) {
    if (kernel.base == nullptr) continue;
    if (kernel.change == Change::unfinished && (kernel.base->is_passed || !kernel.base->is_judged))
      return RegressionFinding::unfinished;
    if (!kernel.base->is_passed) continue;
    ++passed_count;
    if (kernel.change == Change::incomparable) continue;
    ++compared_count;
    if (!kernel.is_same_job()) ++measured_count;
  }
  if (passed_count == 0 || measured_count > 0) return RegressionFinding::none;
  return compared_count == 0 ? RegressionFinding::nothing_compared : RegressionFinding::nothing_measured;
}

Comparison compare_runs(const std::string& base_run, const RunResults& base, const std::string& run,
                        const RunResults& now, const CompareOptions& options) {
  Comparison comparison{.base_run = base_run, .run = run, .metric = options.metric, .kernels = {}, .notes = {}};
  std::map<std::string, ComparedKernel> by_label;
  for (const auto& [label, side] : base) by_label[label].base = &side;
  for (const auto& [label, side] : now) by_label[label].now = &side;
  std::vector<double> p;
  for (auto& [label, kernel] : by_label) {
    kernel.label = label;
    kernel.change = by_verdict(kernel, options.metric);
    kernel.is_same_source =
        kernel.base != nullptr && kernel.now != nullptr && kernel.base->kernel_hash == kernel.now->kernel_hash;
    if (have_times(kernel, options)) {
      kernel.ratio = compared_figure(*kernel.base, options.metric) / compared_figure(*kernel.now, options.metric);
      if (kernel.now->reference_us > 0) kernel.reference_ratio = kernel.base->reference_us / kernel.now->reference_us;
      p.push_back(p_of(*kernel.base, *kernel.now, options.metric));
    }
  }
  const std::vector<double> adjusted = adjusted_p(p);
  std::size_t timed = 0;
  for (auto& [label, kernel] : by_label) {
    if (kernel.ratio > 0) {
      kernel.p = adjusted[timed++];
      const bool is_found =
          kernel.p < options.alpha && std::abs(std::log(kernel.ratio)) > std::log1p(options.change_min);
      if (is_found) kernel.change = kernel.ratio > 1 ? Change::faster : Change::slower;
    }
    comparison.kernels.push_back(std::move(kernel));
  }
  // Among slower kernels the slowest is first, among faster ones the fastest.
  const auto place = [](const ComparedKernel& kernel) {
    const double size = kernel.ratio > 0 ? -std::abs(std::log(kernel.ratio)) : 0;
    return std::tuple(kernel.change, kernel.change == Change::same ? 0 : size, std::string_view(kernel.label));
  };
  std::stable_sort(comparison.kernels.begin(), comparison.kernels.end(),
                   [&](const ComparedKernel& a, const ComparedKernel& b) { return place(a) < place(b); });
  comparison.notes = notes_on(comparison, options);
  return comparison;
}

ChangeCounts grouped(const Comparison& comparison, std::string_view property) {
  ChangeCounts counts;
  for (const ComparedKernel& kernel : comparison.kernels) {
    const KernelResult& side = kernel.either();
    const std::string& value = property == "author"    ? side.author
                               : property == "device"  ? side.device
                               : property == "version" ? side.version
                                                       : side.problem;
    ++counts[value.empty() ? "-" : value][kernel.change];
  }
  return counts;
}

}  // namespace kq::tools
