// What a format finds on disk: one Candidate per job, still as paths; producer/submit/pack.h reads and judges the
// files.
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

#include "core/submission.h"
#include "producer/formats/file_ref.h"

namespace kq::producer {

struct Candidate {
  std::string where;  // for complaints: "run/submissions.jsonl:3", "add.py"
  std::string label;
  std::string author;
  std::map<std::string, std::string> tags;
  std::optional<Backend> backend;  // nothing: told by the entry's text
  std::vector<FileRef> files;      // the entry first
  FileRef problem;
  std::string problem_name;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;
  Precision precision = Precision::as_given;
  std::optional<double> rtol;
  std::optional<double> atol;
  Trials trials;
  Priority priority = Priority::normal;
  std::int64_t not_before_ms = 0;    // Unix time; 0: at once
  std::int64_t deadline_ms = 0;      // Unix time; 0: none
  std::uint32_t time_limit_ms = 0;   // of its build and of its run, each; 0: the worker's
  std::vector<std::string> labels;   // of the worker, in any order
  std::vector<std::string> taken{};  // what its own text says of it, for people: "precision=fp16 (add.py:1)"
};

// Which samples of which problems, in KernelBench's numbers.
struct KernelBenchSubset {
  std::optional<std::uint32_t> level;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> range;  // of problems, both ends included
  std::set<std::uint32_t> problems;                              // empty: all
  std::optional<std::uint32_t> samples_n;                        // only samples below
  bool resume = false;                                           // only what the run's eval_results.json lacks

  bool has(std::uint32_t its_level, std::uint32_t problem, std::uint32_t sample) const {
    return (!level || *level == its_level) && (!range || (range->first <= problem && problem <= range->second)) &&
           (problems.empty() || problems.contains(problem)) && (!samples_n || sample < *samples_n);
  }
};

// What the command line says about every candidate; it wins over what a file says.
struct InputOptions {
  std::optional<std::filesystem::path> problem;   // of single files
  std::optional<std::filesystem::path> problems;  // a directory to look problems up in
  std::optional<Backend> backend;
  std::optional<DeviceWish> device;
  std::optional<std::string> gpu_model;
  std::optional<Precision> precision;
  std::optional<Baseline> baseline;
  std::optional<Profiler> profile;
  std::optional<Priority> priority;
  std::optional<std::int64_t> not_before_ms;
  std::optional<std::int64_t> deadline_ms;
  std::optional<std::uint32_t> time_limit_ms;
  std::optional<std::vector<std::string>> labels;
  std::int64_t now_ms = 0;  // Unix time that "+30m" in a file counts from
  std::optional<std::uint32_t> correctness_n;
  std::optional<std::uint32_t> timed_n;
  KernelBenchSubset subset;
  std::string stand_in{};  // what to call an input whose path means nothing to anybody: "standard input"; its paths
                           // count from here
};

// Where a format puts what it finds, as it finds it: an input may have more candidates than fit into memory.
struct Finds {
  std::function<void(Candidate candidate)> candidate;
  std::function<void(std::string sentence)> mistake;  // what is wrong, where, and what would be right
  std::function<void()> left_out = [] {};             // for each kernel that a mistake keeps from being a candidate
  std::function<void(std::string sentence)> note = [](std::string) {};  // what was left out on purpose
  std::function<bool()> stopped = [] { return false; };                 // whether nobody wants more
};

// The same gathered, for small inputs.
struct Found {
  std::vector<Candidate> candidates;
  std::vector<std::string> mistakes;
  std::vector<std::string> notes{};
};
template <class Read>
Found gathered(Read read) {
  Found found;
  read(Finds{.candidate = [&](Candidate candidate) { found.candidates.push_back(std::move(candidate)); },
             .mistake = [&](std::string sentence) { found.mistakes.push_back(std::move(sentence)); },
             .note = [&](std::string sentence) { found.notes.push_back(std::move(sentence)); }});
  return found;
}

}  // namespace kq::producer
