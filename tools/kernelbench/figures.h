// KernelBench's own figures of a run, by its own definitions (scripts/benchmark_eval_analysis.py,
// src/kernelbench/score.py, calculate_pass_at_k): rates, the geometric mean of the speedups, fast_p and pass@k, per
// level and per problem.
//
// A speedup here is a mean by a mean, unlike that of kq's boards, which are of medians. The baseline of a problem is
// the reference as it was timed beside all samples of the run on that device, or a baseline file. Rates, fast_p and the
// mean are of sample 0 alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"
#include "producer/client/json.h"

namespace kq::tools {

inline constexpr double kKernelBenchThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};

// 1 - the probability that k of n samples, c of which are right, are all wrong.
double pass_at_k(std::uint32_t n, std::uint32_t c, std::uint32_t k);

// Times of many measurements of one thing as one, and that of nothing: sample_count 0.
Statistics pooled(const Statistics& a, const Statistics& b);

struct KernelBenchProblem {
  std::uint32_t level = 0;
  std::uint32_t id = 0;
  std::string file;  // "19_ReLU.py", the key of a baseline file
  Precision precision = Precision::as_given;
  std::uint32_t sample_count = 0;  // with a result
  std::uint32_t compiled_count = 0;
  std::uint32_t correct_count = 0;
  std::optional<bool> compiled_0, correct_0;  // sample 0; nothing: it has no result
  std::string device_0;                       // model
  double mean_ms_0 = -1;
  std::map<std::pair<std::string, Baseline>, std::pair<DeviceInfo, Statistics>> references;  // by device model

  // As it is, where it was timed so; else under torch.compile.
  std::optional<double> baseline_ms(const std::string& device) const;
};

struct KernelBenchLevel {
  std::uint32_t level = 0;
  std::uint32_t problem_count = 0;   // KernelBench's total_count
  std::uint32_t evaluated_count = 0;  // problems with a result
  std::uint32_t compiled_count = 0;
  std::uint32_t correct_count = 0;
  std::uint32_t aligned_count =
      0;  // what fast_p is a fraction of: problems with a baseline entry, all where there is no baseline file
  double geometric_mean_speedup = 0;
  std::vector<std::pair<double, double>> fast_p;
  std::set<std::string> devices;
};

// The means of a baseline file, in ms: level -> file name -> mean; entries without one are null in the file.
using KernelBenchBaseline = std::map<std::uint32_t, std::map<std::string, std::optional<double>>>;
Expected<KernelBenchBaseline> read_kernelbench_baseline(const std::string& path);

// What an eval_results.json has: problem, sample and the result itself. A file that is not there has none; older ones
// have one result instead of a list.
struct KernelBenchResult {
  std::uint32_t problem = 0;
  std::uint32_t sample = 0;
  producer::Json result{nullptr};
};
Expected<std::vector<KernelBenchResult>> read_kernelbench_results(const std::filesystem::path& path);

// Memory grows with the problems and by a few bytes per sample.
class KernelBenchFigures {
 public:
  enum class Added {
    result,
    newer_result,   // takes the place of one that was added before
    older_result,   // another row of the same sample is newer: it stays
    only_compiled,  // no device has run it
    no_result,
    no_problem,  // of no KernelBench problem
  };
  struct Place {
    Added added = Added::no_problem;
    std::uint32_t level = 0, problem = 0, sample = 0;
  };
  // `strict` as in kernelbench_outcome(). Of two rows of one sample the job with the higher number counts.
  Place add(const RunRow& row, bool strict);

  // A result that stood in an eval_results.json, for pass@k.
  void add_result(std::uint32_t level, std::uint32_t problem, std::uint32_t sample, const producer::Json& result);

  // In the order of level and number.
  std::vector<const KernelBenchProblem*> problems() const;
  std::vector<std::uint32_t> levels() const;
  // `whole`: problems of KernelBench that the run lacks count as failures, as its script has it; with a baseline fast_p
  // is of those that the baseline has, as there.
  KernelBenchLevel level(std::uint32_t level, const KernelBenchBaseline* baseline = nullptr, bool whole = false) const;
  // KernelBench's pass_at_k_results.json. A problem with fewer than k samples counts as 0 in avg_pass@k, as it has it.
  producer::Json pass_at_k_results(std::uint32_t level, const std::vector<std::uint32_t>& ks) const;
  // A sentence for each k that some problem has fewer samples than.
  std::vector<std::string> pass_at_k_warnings(std::uint32_t level, const std::vector<std::uint32_t>& ks) const;
  // The speedup of sample 0; nothing where it is not right or was not timed.
  static std::optional<double> speedup_0(const KernelBenchProblem& problem, const KernelBenchBaseline* baseline);

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  struct SampleOutcome {
    Sequence seq = 0;
    bool compiled = false, correct = false;
  };
  std::map<Key, KernelBenchProblem> problems_;
  std::map<Key, std::map<std::uint32_t, SampleOutcome>> samples_;
};

// "1,5,10".
Expected<std::vector<std::uint32_t>> parse_pass_at_k(const std::string& words);
inline constexpr std::uint32_t kPassAtKMax = 1'000'000;

}  // namespace kq::tools
