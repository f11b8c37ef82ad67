// Compares two runs kernel by kernel: what passes now, what fails now, and what became faster or slower beyond the
// noise.
//
// Kernels are the same where their labels are. A change of time counts where the rank-sum test of Mann and Whitney on
// the raw samples, adjusted for the number of kernels, finds it, and where it is larger than a smallest change.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/records.h"

namespace kq::tools {

enum class Change { failed, slower, missing, passed, faster, added, same, failing, unfinished, incomparable };
constexpr std::array<std::string_view, 10> enum_names(Change) {
  return {"failed", "slower", "missing", "passed", "faster", "added", "same", "failing", "unfinished", "incomparable"};
}
// Returns what a change means, as a sentence.
std::string_view meaning_of(Change change);

// What times are compared by: the time of a call, or the time divided by that of the reference in the same run.
enum class Metric { time, speedup };

struct CompareOptions {
  double alpha = 0.01;       // the rate of chance findings among the changes of time
  double change_min = 0.03;  // a change by less is none
  Metric metric = Metric::time;
};

// One run's side of a kernel.
struct KernelResult {
  Sequence seq = 0;
  std::string outcome = {};  // "passed", "wrong_answer (shape)", "queued"
  bool is_judged = false;    // not where the job is not finished, or was cancelled, expired, abandoned or had no device
  bool is_passed = false;
  std::string problem = {};
  Hash problem_hash = {};
  Hash kernel_hash = {};
  std::string author = {};
  std::string precision = {};
  std::string device = {};
  std::string version = {};  // of kq, torch and the driver
  double median_us = 0;
  double reference_us = 0;
  double noise_us = 0;                               // of median_us; 0 or infinite: unknown
  double reference_noise_us = 0;                     // of reference_us
  bool is_noisy = false;                             // measured on a busy machine
  std::vector<std::vector<double>> samples_us = {};  // of each case
  std::vector<double> reference_us_of_case = {};     // the medians
};
KernelResult kernel_result(const RunRow& row);
// Returns the time that is compared: in microseconds, or divided by that of the reference; 0 where there is none.
double compared_figure(const KernelResult& side, Metric metric);

using RunResults = std::map<std::string, KernelResult>;  // by label

struct ComparedKernel {
  std::string label = {};
  const KernelResult* base = nullptr;  // null: the base run has no such kernel
  const KernelResult* now = nullptr;
  Change change = Change::same;
  double ratio = 0;            // the base's time divided by the new one: above 1 it is faster; 0: not compared
  double p = 1;                // adjusted
  double reference_ratio = 0;  // the same of the reference's time
  bool is_same_source = false;

  // Returns whether both runs have the verdict of one job, so that the new run has not judged the kernel anew.
  bool is_same_job() const { return base != nullptr && now != nullptr && base->seq == now->seq; }
  // Returns whether the kernel got worse. A missing kernel did only where it passed before.
  bool is_regression() const;
  const KernelResult& either() const { return now != nullptr ? *now : *base; }
};

struct Comparison {
  std::string base_run = {};
  std::string run = {};
  Metric metric = Metric::time;
  std::vector<ComparedKernel> kernels = {};  // the worst changes first, then by label
  std::vector<std::string> notes = {};       // sentences about what hinders the comparison

  std::size_t count(Change change) const;
  std::size_t regression_count() const;
};

// What a comparison says about regressions. All but `none` and `regressed` mean that it cannot tell.
enum class RegressionFinding { none, regressed, unfinished, nothing_compared, nothing_measured };
// Returns `regressed` if a kernel got worse; else `unfinished` if a kernel that may have got worse has no verdict in
// one of the runs; else `nothing_compared` if kernels passed in the base run, and none of them could be compared; else
// `nothing_measured` if all that could be compared have the job of the base run, so that the new run measured nothing.
RegressionFinding regression_finding(const Comparison& comparison);

// Both results must outlive the comparison.
Comparison compare_runs(const std::string& base_run, const RunResults& base, const std::string& run,
                        const RunResults& now, const CompareOptions& options);

// Counts of changes by the values of one property: "author", "device", "version" or "problem".
using ChangeCounts = std::map<std::string, std::map<Change, std::size_t>>;
inline constexpr std::array<std::string_view, 4> kCompareGroups = {"author", "device", "version", "problem"};
ChangeCounts grouped(const Comparison& comparison, std::string_view property);

}  // namespace kq::tools
