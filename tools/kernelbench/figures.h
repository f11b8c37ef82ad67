// KernelBench's figures of a run, per level and per problem, as KernelBench's own code defines them
// (scripts/benchmark_eval_analysis.py, src/kernelbench/score.py, calculate_pass_at_k): the rates of compiled and
// correct samples, the geometric mean of the speedups, fast_p and pass@k.
//
// A speedup here is a ratio of mean times, whereas kq's boards use medians. The baseline of a problem is the pooled
// time of the reference over all samples of the run on that device, or the entry of a baseline file. Rates, fast_p and
// the geometric mean count sample 0 only.
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

// Returns the probability that at least one of k samples, drawn from n samples of which c are correct, is correct.
double pass_at_k(std::uint32_t n, std::uint32_t c, std::uint32_t k);

// Combines the statistics of two sets of samples into those of their union. A set may be empty.
Statistics pooled(const Statistics& a, const Statistics& b);

struct KernelBenchProblem {
  std::uint32_t level = 0;
  std::uint32_t id = 0;
  std::string file;  // such as "19_ReLU.py", the key in a baseline file
  Precision precision = Precision::as_given;
  std::uint32_t sample_count = 0;  // samples with a result
  std::uint32_t compiled_count = 0;
  std::uint32_t correct_count = 0;
  std::optional<bool> compiled_0, correct_0;  // of sample 0; nothing when it has no result
  std::string device_0;                       // device model of sample 0
  double mean_ms_0 = -1;
  std::map<std::pair<std::string, Baseline>, std::pair<DeviceInfo, Statistics>> references;  // by device model

  // Returns the mean time of the reference as it is, else of the reference under torch.compile, else nothing.
  std::optional<double> baseline_ms(const std::string& device) const;
};

struct KernelBenchLevel {
  std::uint32_t level = 0;
  std::uint32_t problem_count = 0;    // KernelBench's total_count
  std::uint32_t evaluated_count = 0;  // problems with a result
  std::uint32_t compiled_count = 0;
  std::uint32_t correct_count = 0;
  std::uint32_t aligned_count =
      0;  // denominator of fast_p: problems with a baseline entry, all without a baseline file
  double geometric_mean_speedup = 0;
  std::vector<std::pair<double, double>> fast_p;
  std::set<std::string> devices;
};

// The mean times in a baseline file, in ms, by level and file name. An entry that is null in the file has no value.
using KernelBenchBaseline = std::map<std::uint32_t, std::map<std::string, std::optional<double>>>;
Expected<KernelBenchBaseline> read_kernelbench_baseline(const std::string& path);

// One result in an eval_results.json.
struct KernelBenchResult {
  std::uint32_t problem = 0;
  std::uint32_t sample = 0;
  producer::Json result{nullptr};
};
// Returns the results in an eval_results.json, none for a missing file. A problem may have one result instead of a
// list, as older versions of KernelBench wrote it.
Expected<std::vector<KernelBenchResult>> read_kernelbench_results(const std::filesystem::path& path);

// Gathers the rows of a run and computes the figures. Memory grows with the number of problems, and by a few bytes for
// each sample.
class KernelBenchFigures {
 public:
  enum class Added {
    result,
    newer_result,   // the result replaces an older result of the same sample
    older_result,   // the result is ignored, because a newer one of the same sample was added before
    only_compiled,  // no device has run the kernel
    no_result,      // the row says nothing about the kernel
    no_problem,     // the job is not of a KernelBench problem
  };
  struct Place {
    Added added = Added::no_problem;
    std::uint32_t level = 0, problem = 0, sample = 0;
  };
  // Adds a row. `strict` is as in kernelbench_outcome(). Of two rows of one sample, that of the job with the higher
  // number counts.
  Place add(const RunRow& row, bool strict);

  // Adds a result of an existing eval_results.json, which counts for pass@k only.
  void add_result(std::uint32_t level, std::uint32_t problem, std::uint32_t sample, const producer::Json& result);

  // Returns the problems ordered by level and number.
  std::vector<const KernelBenchProblem*> problems() const;
  std::vector<std::uint32_t> levels() const;
  // Returns the figures of one level. With `whole`, problems of the level that the run lacks count as failures; with a
  // baseline file, fast_p is then a fraction of the problems in the file. Both are as in KernelBench's script.
  KernelBenchLevel level(std::uint32_t level, const KernelBenchBaseline* baseline = nullptr, bool whole = false) const;
  // Returns the contents of pass_at_k_results.json. As in KernelBench, a problem with fewer than k samples counts as 0
  // in avg_pass@k.
  producer::Json pass_at_k_results(std::uint32_t level, const std::vector<std::uint32_t>& ks) const;
  // Returns a sentence for each k that is larger than the number of samples of some problem.
  std::vector<std::string> pass_at_k_warnings(std::uint32_t level, const std::vector<std::uint32_t>& ks) const;
  // Returns the speedup of sample 0, or nothing when that sample is not correct or was not timed.
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

// Parses the values of --pass-at-k, such as "1,5,10".
Expected<std::vector<std::uint32_t>> parse_pass_at_k(const std::string& words);
inline constexpr std::uint32_t kPassAtKMax = 1'000'000;

}  // namespace kq::tools
