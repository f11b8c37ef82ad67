// A problem: the reference that a submission must match, the tolerances, and the rule of the truth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/bytes/hash.h"
#include "core/limits.h"

namespace kq {

// The type to which floating-point inputs, parameters and buffers are cast before anything runs. Integers and booleans
// are never cast.
enum class Precision { as_given, fp32, fp16, bf16 };
constexpr std::array<std::string_view, 4> enum_names(Precision) {
  return {"as_given", "fp32", "fp16", "bf16"};
}

// The name that selects all workloads of a problem, and the name of the only workload of a problem that names none.
inline constexpr std::string_view kDefaultWorkload = "default";

// A selection among the workloads of a problem: a name, or a pattern in which * stands for any text and ? for one
// character. A workload is one set of arguments; the problem's file defines the workloads, and most files have one.
struct Workload {
  std::string name = std::string(kDefaultWorkload);

  friend bool operator==(const Workload&, const Workload&) = default;
};

// Returns the selections in a text in which commas join them.
inline std::vector<Workload> parse_workloads(std::string_view text) {
  std::vector<Workload> workloads;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    workloads.push_back({std::string(text.substr(start, end - start))});
    start = end + 1;
  }
  return workloads;
}

// The truth is what a reference computes in float64. A reference that runs in TF32, or that sums in an unlucky order,
// is itself far from it. Where an output is not within the tolerance of the reference, the judge has the reference
// computed once more, as exactly as can be had, and asks whether the submission is as near to that as the reference is
// (gpu_worker/judge/check/truth.h).

// A precision to which a submission may round its inputs and parameters.
enum class AllowedPrecision { none, tf32, fp16, bf16 };
constexpr std::array<std::string_view, 4> enum_names(AllowedPrecision) {
  return {"none", "tf32", "fp16", "bf16"};
}

// A submission is no farther from the truth than its reference where the RMS of its errors is at most kTruthRms times
// that of the reference, and its largest error at most kTruthMax times. Two honest orders of summation differ by less
// than that, and TF32 in place of float32 by hundreds.
inline constexpr double kTruthRms = 2;
inline constexpr double kTruthMax = 4;

// How a submission is measured by the truth. It is part of the key where it differs from the default.
struct TruthRule {
  bool is_used = true;
  double rms = kTruthRms;
  double max = kTruthMax;
  AllowedPrecision allowed = AllowedPrecision::none;

  friend bool operator==(const TruthRule&, const TruthRule&) = default;
};

struct Problem {
  std::string name;  // a name for people: "relu", "level1/19_ReLU"
  std::string file;  // the file name of the reference source, without a directory
  // The hash of the reference source. Boards are keyed by it, so a reference that was made slower has another board.
  Hash hash;
  Precision precision = Precision::as_given;
  // Without a value the tolerances depend on the data type (gpu_worker/judge/check/compare.h).
  std::optional<double> rtol;
  std::optional<double> atol;
  // The workloads that a job runs: those that any of these selects. Only a job that runs all is listed on a board.
  std::vector<Workload> workloads{Workload{}};
  // The number of GPUs that a job of the problem needs at once, all in one lane of a worker. A problem's own program
  // (Backend::eval_program) gets so many; the judge measures on the first alone. A part of the key where it is not the
  // default.
  std::uint32_t device_count = 1;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// Returns whether a job runs all workloads of the problem.
inline bool runs_all_workloads(const Problem& problem) {
  return problem.workloads == std::vector<Workload>{Workload{}};
}

template <class V>
void fields(V& v, Workload& x) {
  v("name", x.name);
}
template <class V>
void fields(V& v, TruthRule& x) {
  v("used", x.is_used);
  v("rms", x.rms);
  v("max", x.max);
  v("allow_precision", x.allowed);
}
template <class V>
void fields(V& v, Problem& x) {
  v("name", x.name);
  v("file", x.file);
  v("hash", x.hash);
  v("precision", x.precision);
  v("rtol", x.rtol);
  v("atol", x.atol);
  v("workloads", x.workloads);
  v("device_count", x.device_count);
}

}  // namespace kq
