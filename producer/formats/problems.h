// Finds problems by path, by name, and by the level and number of KernelBench. They are in a directory, or in the JSON
// Lines form of KernelBench's hosted data set, which has one {"code", "level", "name", "problem_id"} per line.
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

// Finds a problem whose reference is written as a path relative to `base`, or as a name below `problems` or its folder
// KernelBench. A name may omit .py, and "level1/19_ReLU" may be written as "level1/19".
Expected<FoundProblem> find_problem(const std::filesystem::path& written, const std::filesystem::path& base,
                                    const std::optional<std::filesystem::path>& problems);

// A line of the hosted data set.
struct HostedProblem {
  std::uint32_t level = 0;
  std::uint32_t id = 0;
  std::string file;  // "19_ReLU.py"; the data set has the name without .py
  std::string code;
};
// Reads a line of the hosted data set. Returns nothing where the object is no such line, and fails where it is one with
// wrong members.
Expected<std::optional<HostedProblem>> hosted_problem(const Json& line);

// Finds the problems of KernelBench in several roots. It lists each directory and reads each data set only once.
class KernelBenchProblems {
 public:
  // With `flat` a root may also be the directory of one level. That is only safe where a run has a single level.
  KernelBenchProblems(std::vector<std::filesystem::path> roots, bool flat) : roots_(std::move(roots)), flat_(flat) {}

  // Returns the problem from the first root that has it, as level{level}/{id}_*.py, as
  // KernelBench/level{level}/{id}_*.py, or as a line of a .jsonl file.
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

// Returns the files {id}_{name}.py of one directory by their ids. Other files are ignored.
std::map<std::uint32_t, std::vector<std::filesystem::path>> problem_files(const std::filesystem::path& directory);

inline constexpr std::size_t kHostedProblemsMax = 100'000;  // problems of one data set

}  // namespace kq::producer
