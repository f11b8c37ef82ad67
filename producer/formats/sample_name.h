// How KernelBench names a sample of a problem: level_1_problem_19_sample_0_kernel.py.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kq::producer {

struct SampleName {
  std::uint32_t level = 0;
  std::uint32_t problem = 0;
  std::uint32_t sample = 0;

  friend auto operator<=>(const SampleName&, const SampleName&) = default;
};
// "level_1_problem_19_sample_0_kernel.py" -> {1, 19, 0}
std::optional<SampleName> parse_sample_name(std::string_view file_name);

// The same without its ending, as a job's label.
std::string sample_label(const SampleName& name);

inline constexpr std::string_view kSampleEnding = "_kernel.py";

}  // namespace kq::producer
