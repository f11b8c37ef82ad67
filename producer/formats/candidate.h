// The candidates that a format finds in an input. A Candidate becomes a job; it has the paths of its files, which
// producer/submit/pack.h reads and validates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"
#include "core/submission.h"
#include "producer/formats/file_ref.h"

namespace kq::producer {

struct Candidate {
  std::string where;  // the place for error texts: "run/submissions.jsonl:3", "add.py"
  std::string label;
  std::string author;
  std::map<std::string, std::string> tags;
  std::optional<Backend> backend;  // no value: recognised by the text of the entry
  std::vector<FileRef> files;      // the first file is the entry
  FileRef problem;
  std::string problem_name;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;
  Precision precision = Precision::as_given;
  std::optional<double> rtol;
  std::optional<double> atol;
  std::uint32_t device_count = 1;   // GPUs that the problem needs at once
  std::vector<Workload> workloads;  // selections among the problem's workloads; empty: all
  Trials trials;
  Priority priority = Priority::normal;
  std::int64_t not_before_ms = 0;   // Unix time; 0: at once
  std::int64_t deadline_ms = 0;     // Unix time; 0: none
  std::uint32_t time_limit_ms = 0;  // limit of the build and of the run, each; 0: the worker's limits
  std::vector<std::string> labels;  // labels that the worker must have, in any order
  TruthRule truth{};
  std::vector<std::string> header_settings{};  // the settings in its own text, for people: "precision=fp16 (add.py:1)"
};

// A selection of samples of a KernelBench run, by the numbers of levels, problems and samples.
struct KernelBenchSubset {
  std::optional<std::uint32_t> level;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> range;  // problem numbers, both ends included
  std::set<std::uint32_t> problems;                              // empty: all
  std::optional<std::uint32_t> samples_per_problem;              // only samples with lower numbers
  bool resume = false;                                           // only samples that the run's eval_results.json lacks

  bool has(std::uint32_t its_level, std::uint32_t problem, std::uint32_t sample) const {
    return (!level || *level == its_level) && (!range || (range->first <= problem && problem <= range->second)) &&
           (problems.empty() || problems.contains(problem)) && (!samples_per_problem || sample < *samples_per_problem);
  }
};

// A suite of BackendBench, and which of its calls and kernels are taken (backendbench/suite.h).
enum class Suite { smoke, torchbench, opinfo, facto };
constexpr std::array<std::string_view, 4> enum_names(Suite) {
  return {"smoke", "torchbench", "opinfo", "facto"};
}

struct SuiteOptions {
  Suite suite = Suite::smoke;
  std::optional<std::filesystem::path> trace{};  // the file of every suite but smoke
  std::vector<std::string> ops{};                // empty: all. torchbench takes every name that has one of these in it
  std::optional<std::uint32_t> largest{};        // torchbench: only this many calls of each operator
  bool strict = false;                           // tolerances are those of BackendBench: 0.01 for every dtype
  bool first_version = false;                    // the kernel file whose name is first, and not the highest version
};

// What checks and times submissions to problems in GPU MODE's form: kq, the problem's own program, or each in a job of
// its own.
enum class JudgedBy { kq, problem, both };
constexpr std::array<std::string_view, 3> enum_names(JudgedBy) {
  return {"kq", "problem", "both"};
}

// The options of the command line that apply to every candidate. They override the settings in files.
struct InputOptions {
  std::optional<std::filesystem::path> problem;   // the problem of single files
  std::optional<std::filesystem::path> problems;  // the directory or data set in which problems are found
  std::optional<Backend> backend;
  std::optional<DeviceWish> device;
  std::optional<std::string> gpu_model;
  std::optional<Precision> precision;
  std::optional<Baseline> baseline;
  std::optional<Profiler> profile;
  std::optional<Streams> streams;
  std::optional<Graphs> graphs;
  bool need_extensions = false;  // true overrides the candidate's setting
  std::optional<std::vector<Workload>> workloads;
  std::optional<Priority> priority;
  std::optional<std::int64_t> not_before_ms;
  std::optional<std::int64_t> deadline_ms;
  std::optional<std::uint32_t> time_limit_ms;
  std::optional<std::vector<std::string>> labels;
  std::optional<std::string> author{};
  std::map<std::string, std::string> tags{};  // beside the candidate's own; of one name, these win
  std::int64_t now_ms = 0;                    // the Unix time to which "+30m" in a file is relative
  std::optional<std::uint32_t> correctness_trials;
  std::optional<std::uint32_t> timed_trials;
  std::optional<double> rtol;
  std::optional<double> atol;
  std::optional<double> truth_rms;
  std::optional<double> truth_max;
  bool no_truth = false;  // true overrides the candidate's setting
  std::optional<AllowedPrecision> allow_precision;
  KernelBenchSubset subset;
  SuiteOptions suite{};
  JudgedBy judged_by = JudgedBy::kq;
  // The absolute path below which the path of a kernel's file is its label; empty: its label is its name.
  std::filesystem::path label_root{};
  // The name for error texts of an input that has no path of its own: "standard input". Paths in such an input are
  // relative to the working directory. Otherwise empty.
  std::string input_name{};
};

// The functions to which a format passes each result as it reads the input. The format collects nothing, because an
// input may have more candidates than fit into memory.
struct CandidateSink {
  std::function<void(Candidate candidate)> candidate;
  std::function<void(std::string sentence)> mistake;  // says what is wrong, where, and what would be right
  std::function<void()> left_out = [] {};  // called for each kernel that is no candidate because of a mistake
  std::function<void(std::string sentence)> note = [](std::string) {};  // says what was left out on purpose
  std::function<bool()> stopped = [] { return false; };                 // returns whether the format should stop
};

// The collected results of a small input.
struct Found {
  std::vector<Candidate> candidates;
  std::vector<std::string> mistakes;
  std::vector<std::string> notes{};
};
template <class Read>
Found collect(Read read) {
  Found found;
  read(CandidateSink{.candidate = [&](Candidate candidate) { found.candidates.push_back(std::move(candidate)); },
                     .mistake = [&](std::string sentence) { found.mistakes.push_back(std::move(sentence)); },
                     .note = [&](std::string sentence) { found.notes.push_back(std::move(sentence)); }});
  return found;
}

}  // namespace kq::producer
