// Where problems are found: by path, by name, and by KernelBench's level and number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace kq {

struct FoundProblem {
  std::filesystem::path path;
  std::string name;  // "relu", "level1/19_ReLU"
};

// A problem that somebody wrote down as a path relative to `base`, or as a name below `problems` or its KernelBench
// folder; .py may be left out of a name.
Expected<FoundProblem> find_problem(const std::filesystem::path& written, const std::filesystem::path& base,
                                    const std::optional<std::filesystem::path>& problems);

// KernelBench's {id}_{name}.py files. Each directory is listed once.
class KernelBenchProblems {
 public:
  // `flat`: the roots may also be the directory of one level; only safe while a run has a single level.
  KernelBenchProblems(std::vector<std::filesystem::path> roots, bool flat) : roots_(std::move(roots)), flat_(flat) {}

  // The first root that has it, as level{level}/{id}_*.py or KernelBench/level{level}/{id}_*.py.
  Expected<FoundProblem> find(std::uint32_t level, std::uint32_t id);

 private:
  using Listing = std::map<std::uint32_t, std::vector<std::filesystem::path>>;
  const Listing& listing(const std::filesystem::path& directory);

  std::vector<std::filesystem::path> roots_;
  bool flat_;
  std::map<std::filesystem::path, Listing> listings_;
};

}  // namespace kq
