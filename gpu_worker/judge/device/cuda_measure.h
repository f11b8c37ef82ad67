// The kernels that measure a wrong output on the GPU, as text. They find what the host's comparisons find
// (check/compare.h, check/truth.h) and round as the host does in doubles. So all figures but sums are equal to the
// host's, except where the host compares a block of right elements in float32.
//
//   kq_measure_FORMAT       an ErrorRecord of each thread, for expected and got numbers of a format
//   kq_truth_TRUTH_FORMAT   a TruthRecord of each thread, for these numbers and a truth that is float64 or float32
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kq::judge::cuda {

// The threads of a measuring kernel, and so its records, which have 5 MB at most.
inline constexpr std::uint64_t kMeasureThreads = 65'536;

// How a number of a format gets from the memory at %at into %value as a double. The text uses the registers %half,
// %word, %low, %high, %single and the predicate %q.
struct NumberLoad {
  std::string format;  // "float16"
  std::string text;
  std::uint64_t bytes = 0;
};

struct KernelText {
  std::string name;
  std::string text;
};

std::string measure_kernel(std::string_view format);
std::string truth_kernel(std::string_view truth_format, std::string_view format);

// Returns the measuring kernels of these formats.
std::vector<KernelText> measuring_kernels(std::span<const NumberLoad> loads);

}  // namespace kq::judge::cuda
