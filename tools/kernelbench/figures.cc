#include "tools/kernelbench/figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "tools/cli/text.h"
#include "tools/kernelbench/outcome.h"

namespace kq::tools {
namespace {

constexpr std::int64_t kSampleMax = 1'000'000'000;
constexpr std::uint32_t kProblemsOfLevel[] = {0, 100, 100, 50, 20};

std::optional<double> mean_in(const producer::Json& entry) {
  const producer::Json* mean = entry.find("mean");
  if (mean == nullptr) return std::nullopt;
  if (mean->floating() != nullptr) return *mean->floating();
  if (mean->integer() != nullptr) return static_cast<double>(*mean->integer());
  return std::nullopt;
}

std::optional<double> mean_of(const KernelBenchBaseline& baseline, const KernelBenchProblem& problem) {
  const auto level = baseline.find(problem.level);
  if (level == baseline.end()) return std::nullopt;
  const auto entry = level->second.find(problem.file);
  return entry != level->second.end() ? entry->second : std::nullopt;
}

}  // namespace

double pass_at_k(std::uint32_t n, std::uint32_t c, std::uint32_t k) {
  if (n - c < k) return 1;
  double all_wrong = 1;
  for (std::uint32_t i = n - c + 1; i <= n; ++i) all_wrong *= 1 - static_cast<double>(k) / i;
  return 1 - all_wrong;
}

// The sum of squares about the common mean is the sum of squares about each own mean plus the squared distance between
// the means, weighted by n * m / (n + m).
Statistics pooled(const Statistics& a, const Statistics& b) {
  if (a.sample_count == 0) return b;
  if (b.sample_count == 0) return a;
  const double n = a.sample_count, m = b.sample_count;
  Statistics both;
  both.sample_count = a.sample_count + b.sample_count;
  both.mean_ns = (n * a.mean_ns + m * b.mean_ns) / (n + m);
  const double squares = (n - 1) * a.std_ns * a.std_ns + (m - 1) * b.std_ns * b.std_ns +
                         n * m / (n + m) * (a.mean_ns - b.mean_ns) * (a.mean_ns - b.mean_ns);
  both.std_ns = std::sqrt(squares / (n + m - 1));
  both.min_ns = std::min(a.min_ns, b.min_ns);
  both.max_ns = std::max(a.max_ns, b.max_ns);
  return both;
}

std::optional<double> KernelBenchProblem::baseline_ms(const std::string& device) const {
  for (const Baseline baseline : {Baseline::eager, Baseline::compile}) {
    if (const auto found = references.find({device, baseline}); found != references.end())
      return found->second.second.mean_ns / 1e6;
  }
  return std::nullopt;
}

Expected<KernelBenchBaseline> read_kernelbench_baseline(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open())
    return bad_input("cannot read " + path +
                     ": a baseline file of KernelBench is needed, such as results/timing/GPU/baseline_time_torch.json");
  const Expected<producer::Json> json = producer::parse_json(text);
  if (!json) return bad_input(path + ": not JSON, " + json.error().message);
  if (json->object() == nullptr)
    return bad_input(path + R"(: a baseline file is {"level1": {"1_name.py": {"mean": ms, ...}}}, got )" +
                     producer::described(*json));
  KernelBenchBaseline baseline;
  for (const auto& [name, problems] : *json->object()) {
    std::uint32_t level = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with("level") || std::from_chars(name.data() + 5, end, level).ptr != end ||
        problems.object() == nullptr) {
      return bad_input(path + ": '" + printable(name) + "' must be level1, level2, ... with an object of problems");
    }
    for (const auto& [problem, entry] : *problems.object()) baseline[level][problem] = mean_in(entry);
  }
  return baseline;
}

KernelBenchFigures::Place KernelBenchFigures::add(const RunRow& row, bool strict) {
  const Submission& submission = row.entry.submission;
  const auto id = kernelbench_id(submission);
  if (!id) return {};
  const Key key{id->level, id->problem};
  KernelBenchProblem& problem = problems_.try_emplace(key).first->second;
  problem.level = id->level;
  problem.id = id->problem;
  if (problem.file.empty()) problem.file = submission.problem.file;
  problem.precision = submission.problem.precision;
  Place place{Added::no_result, id->level, id->problem, 0};
  if (row.result && name_of(row.result->verdict) == VerdictName::compiled_only) place.added = Added::only_compiled;
  if (!is_kernelbench_result(row)) return place;

  const KernelBenchOutcome outcome = kernelbench_outcome(row, strict);
  std::map<std::uint32_t, SampleOutcome>& outcomes = samples_[key];
  place.sample = id->sample.value_or(outcomes.empty() ? 0 : outcomes.rbegin()->first + 1);
  const auto [sample, is_first] = outcomes.try_emplace(place.sample);
  place.added = is_first ? Added::result : sample->second.seq < row.job.seq ? Added::newer_result : Added::older_result;
  if (place.added == Added::older_result) return place;
  problem.sample_count += is_first ? 1 : 0;
  problem.compiled_count -= sample->second.compiled ? 1 : 0;
  problem.correct_count -= sample->second.correct ? 1 : 0;
  sample->second = {row.job.seq, outcome.compiled, outcome.correct};
  problem.compiled_count += outcome.compiled ? 1 : 0;
  problem.correct_count += outcome.correct ? 1 : 0;
  const DeviceInfo& device = row.result->device;
  const Measurement* measured = measurement_of(row.result->verdict);
  if (measured != nullptr && measured->reference.sample_count > 0) {
    auto& [of_device, times] = problem.references[{device.model, submission.trials.baseline}];
    of_device = device;
    times = pooled(times, measured->reference);
  }
  if (place.sample == 0) {
    problem.compiled_0 = outcome.compiled;
    problem.correct_0 = outcome.correct;
    problem.device_0 = device.model;
    problem.mean_ms_0 = outcome.runtime_ms;
  }
  return place;
}

Expected<std::vector<KernelBenchResult>> read_kernelbench_results(const std::filesystem::path& path) {
  std::vector<KernelBenchResult> found;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return found;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Expected<producer::Json> json = producer::parse_json(text);
  if (!json) return bad_input(path.string() + ": not JSON, " + json.error().message);
  if (json->object() == nullptr)
    return bad_input(path.string() + ": results by problem are needed, got " + producer::described(*json));
  for (const auto& [name, results] : *json->object()) {
    std::uint32_t problem = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), problem);
    if (wrong != std::errc{} || end != name.data() + name.size())
      return bad_input(path.string() + ": '" + printable(name) + "' is not the number of a problem");
    const producer::JsonArray one{results};
    for (const producer::Json& result : results.array() != nullptr ? *results.array() : one) {
      const producer::Json* sample = result.find("sample_id");
      if (sample == nullptr || sample->integer() == nullptr || *sample->integer() < 0 ||
          *sample->integer() > kSampleMax) {
        return bad_input(path.string() + ": a result of problem " + name + " has no sample_id");
      }
      found.push_back({problem, static_cast<std::uint32_t>(*sample->integer()), result});
    }
  }
  return found;
}

void KernelBenchFigures::add_result(std::uint32_t level, std::uint32_t id, std::uint32_t sample,
                                    const producer::Json& result) {
  const Key key{level, id};
  if (!samples_[key].try_emplace(sample).second) return;
  KernelBenchProblem& problem = problems_.try_emplace(key).first->second;
  problem.level = level;
  problem.id = id;
  const auto says = [&result](const char* name) {
    const producer::Json* value = result.find(name);
    return value != nullptr && value->boolean() != nullptr && *value->boolean();
  };
  ++problem.sample_count;
  problem.compiled_count += says("compiled") ? 1 : 0;
  problem.correct_count += says("correctness") && says("compiled") ? 1 : 0;
}

std::vector<const KernelBenchProblem*> KernelBenchFigures::problems() const {
  std::vector<const KernelBenchProblem*> found;
  for (const auto& [key, problem] : problems_) found.push_back(&problem);
  return found;
}

std::vector<std::uint32_t> KernelBenchFigures::levels() const {
  std::vector<std::uint32_t> found;
  for (const auto& [key, problem] : problems_) {
    if (found.empty() || found.back() != key.first) found.push_back(key.first);
  }
  return found;
}

std::optional<double> KernelBenchFigures::speedup_0(const KernelBenchProblem& problem,
                                                    const KernelBenchBaseline* baseline) {
  if (!problem.correct_0.value_or(false) || problem.mean_ms_0 <= 0) return std::nullopt;
  const auto reference_ms = baseline != nullptr ? mean_of(*baseline, problem) : problem.baseline_ms(problem.device_0);
  return reference_ms ? std::optional(*reference_ms / problem.mean_ms_0) : std::nullopt;
}

KernelBenchLevel KernelBenchFigures::level(std::uint32_t level, const KernelBenchBaseline* baseline, bool whole) const {
  KernelBenchLevel figures;
  figures.level = level;
  const std::map<std::string, std::optional<double>>* entries = nullptr;
  if (baseline != nullptr && baseline->contains(level)) entries = &baseline->at(level);
  double logs = 0;
  std::uint32_t timed_count = 0;
  std::vector<double> speedups;
  for (const auto& [key, problem] : problems_) {
    if (key.first != level) continue;
    ++figures.problem_count;
    figures.evaluated_count += problem.sample_count > 0 ? 1 : 0;
    figures.compiled_count += problem.compiled_0.value_or(false) ? 1 : 0;
    figures.correct_count += problem.correct_0.value_or(false) ? 1 : 0;
    figures.aligned_count += baseline == nullptr || (entries != nullptr && entries->contains(problem.file)) ? 1 : 0;
    for (const auto& [which, reference] : problem.references) figures.devices.insert(which.first);
    const auto speedup = speedup_0(problem, baseline);
    if (!speedup || *speedup <= 0) continue;
    speedups.push_back(*speedup);
    logs += std::log(*speedup);  // a product of ten thousand speedups does not fit a double
    ++timed_count;
  }
  if (whole && level < std::size(kProblemsOfLevel))
    figures.problem_count = std::max(figures.problem_count, kProblemsOfLevel[level]);
  if (whole && baseline == nullptr) figures.aligned_count = figures.problem_count;
  if (whole && entries != nullptr) figures.aligned_count = static_cast<std::uint32_t>(entries->size());
  figures.geometric_mean_speedup = timed_count > 0 ? std::exp(logs / timed_count) : 0;
  for (const double p : kKernelBenchThresholds) {
    const auto above = std::count_if(speedups.begin(), speedups.end(), [&](double speedup) { return speedup > p; });
    figures.fast_p.emplace_back(p, figures.aligned_count > 0 ? static_cast<double>(above) / figures.aligned_count : 0);
  }
  return figures;
}

producer::Json KernelBenchFigures::pass_at_k_results(std::uint32_t level, const std::vector<std::uint32_t>& ks) const {
  producer::JsonObject problems, averages;
  std::map<std::uint32_t, std::pair<double, std::int64_t>> sums;  // by k: sum of pass@k, number of problems
  std::int64_t problem_count = 0, sample_count = 0, correct_count = 0;
  for (const auto& [key, problem] : problems_) {
    if (key.first != level || problem.sample_count == 0) continue;
    ++problem_count;
    sample_count += problem.sample_count;
    correct_count += problem.correct_count;
    std::map<std::uint32_t, double> values;  // by k; a k above the number of samples is replaced by that number
    for (const std::uint32_t k : ks)
      values[std::min(k, problem.sample_count)] =
          pass_at_k(problem.sample_count, problem.correct_count, std::min(k, problem.sample_count));
    producer::JsonObject entry{{"total_samples", producer::Json{std::int64_t{problem.sample_count}}},
                               {"correct_samples", producer::Json{std::int64_t{problem.correct_count}}}};
    for (const auto& [k, value] : values) {
      entry.emplace_back("pass@" + std::to_string(k), producer::Json{value});
      sums[k].first += value;
      ++sums[k].second;
    }
    problems.emplace_back(std::to_string(problem.id), producer::Json{std::move(entry)});
  }
  producer::JsonObject metadata{{"total_problems", producer::Json{problem_count}},
                                {"problems_with_samples", producer::Json{problem_count}},
                                {"total_evaluated_samples", producer::Json{sample_count}},
                                {"total_correct_samples", producer::Json{correct_count}}};
  for (const std::uint32_t k : ks) {
    if (problem_count > 0)
      averages.emplace_back("avg_pass@" + std::to_string(k),
                            producer::Json{sums[k].first / static_cast<double>(problem_count)});
    metadata.emplace_back("pass@" + std::to_string(k) + "_count", producer::Json{sums[k].second});
  }
  return producer::Json{producer::JsonObject{{"averages", producer::Json{std::move(averages)}},
                                             {"metadata", producer::Json{std::move(metadata)}},
                                             {"problems", producer::Json{std::move(problems)}}}};
}

std::vector<std::string> KernelBenchFigures::pass_at_k_warnings(std::uint32_t level,
                                                                const std::vector<std::uint32_t>& ks) const {
  std::vector<std::string> warnings;
  for (const std::uint32_t k : ks) {
    std::size_t problem_count = 0, too_few_count = 0;
    for (const auto& [key, problem] : problems_) {
      if (key.first != level || problem.sample_count == 0) continue;
      ++problem_count;
      too_few_count += problem.sample_count < k ? 1 : 0;
    }
    if (too_few_count == 0) continue;
    warnings.push_back("level " + std::to_string(level) + ": " + std::to_string(too_few_count) + " of " +
                       std::to_string(problem_count) + (problem_count == 1 ? " problem has" : " problems have") +
                       " fewer than " + std::to_string(k) + " samples, which counts as 0 in pass@" + std::to_string(k) +
                       ", as in KernelBench");
  }
  return warnings;
}

Expected<std::vector<std::uint32_t>> parse_pass_at_k(const std::string& words) {
  std::vector<std::uint32_t> ks;
  for (std::size_t start = 0; start <= words.size();) {
    const std::size_t end = std::min(words.find(',', start), words.size());
    std::uint32_t k = 0;
    const auto [stop, wrong] = std::from_chars(words.data() + start, words.data() + end, k);
    if (wrong != std::errc{} || stop != words.data() + end || k < 1 || k > kPassAtKMax ||
        std::find(ks.begin(), ks.end(), k) != ks.end()) {
      return bad_input("--pass-at-k must be different numbers from 1 to " + std::to_string(kPassAtKMax) +
                       " like 1,5,10, got '" + printable(words) + "'");
    }
    ks.push_back(k);
    start = end + 1;
  }
  return ks;
}

}  // namespace kq::tools
