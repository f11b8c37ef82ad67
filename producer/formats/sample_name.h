// The names that KernelBench gives to samples of problems: level_1_problem_19_sample_0_kernel.py.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "producer/client/json.h"

namespace kq::producer {

// The member of a result's metadata in eval_results.json that names its level. KernelBench's own scripts do not write
// it, and the file itself has the number of the problem only.
inline constexpr const char* kKernelBenchLevelKey = "kq_level";
// Returns the level that a result of eval_results.json names, or nothing.
std::optional<std::uint32_t> level_of_result(const Json& result);

struct SampleName {
  std::uint32_t level = 0;
  std::uint32_t problem = 0;
  std::uint32_t sample = 0;

  friend auto operator<=>(const SampleName&, const SampleName&) = default;
};
// Parses "level_1_problem_19_sample_0_kernel.py" as {1, 19, 0}. Returns nothing for any other form.
std::optional<SampleName> parse_sample_name(std::string_view file_name);

// Returns the name without its ending, which is the label of the job.
std::string sample_label(const SampleName& name);

inline constexpr std::string_view kSampleEnding = "_kernel.py";

}  // namespace kq::producer
