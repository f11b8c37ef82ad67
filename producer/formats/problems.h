// Where problems are found: by path, by name, and by KernelBench's level and number; in a directory, or in the JSON
// Lines form of its hosted data set, one {"code", "level", "name", "problem_id"} per line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/client/json.h"
#include "producer/formats/file_ref.h"

namespace kq::producer {

struct FoundProblem {
  FileRef file;
  std::string name;  // "relu", "level1/19_ReLU"
};

// A problem that somebody wrote down as a path relative to `base`, or as a name below `problems` or its KernelBench
// folder; .py may be left out of a name, and of "level1/19_ReLU" all behind the number.
Expected<FoundProblem> find_problem(const std::filesystem::path& written, const std::filesystem::path& base,
                                    const std::optional<std::filesystem::path>& problems);

// A line of the hosted data set.
struct HostedProblem {
  std::uint32_t level = 0;
  std::uint32_t id = 0;
  std::string file;  // "19_ReLU.py"; the data set leaves the ending out
  std::string code;
};
// Nothing where an object is no such line; an Error where it is one and something is wrong with it.
Expected<std::optional<HostedProblem>> hosted_problem(const Json& line);

// KernelBench's problems. Each directory is listed once, each data set read once.
class KernelBenchProblems {
 public:
  // `flat`: the roots may also be the directory of one level; only safe while a run has a single level.
  KernelBenchProblems(std::vector<std::filesystem::path> roots, bool flat) : roots_(std::move(roots)), flat_(flat) {}

  // The first root that has it, as level{level}/{id}_*.py or KernelBench/level{level}/{id}_*.py, or as a line of a
  // .jsonl file.
  Expected<FoundProblem> find(std::uint32_t level, std::uint32_t id);

 private:
  using Listing = std::map<std::uint32_t, std::vector<std::filesystem::path>>;
  using DataSet = std::map<std::pair<std::uint32_t, std::uint32_t>, FoundProblem>;
  const Listing& listing(const std::filesystem::path& directory);
  Expected<const DataSet*> data_set(const std::filesystem::path& file);

  std::vector<std::filesystem::path> roots_;
  bool flat_;
  std::map<std::filesystem::path, Listing> listings_;
  std::map<std::filesystem::path, DataSet> data_sets_;
};

// {id}_{name}.py files of one directory; what begins with no number is no problem.
std::map<std::uint32_t, std::vector<std::filesystem::path>> problem_files(const std::filesystem::path& directory);

inline constexpr std::size_t kHostedProblemsMax = 100'000;  // of one data set

}  // namespace kq::producer
