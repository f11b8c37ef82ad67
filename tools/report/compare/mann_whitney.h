// The rank-sum test of Mann and Whitney. It compares two samples of times and assumes no normal distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kq::tools {

// Samples on each side below which the test says nothing: the normal approximation is too rough.
inline constexpr std::size_t kRankSumSamplesMin = 5;

// Returns the two-sided probability that two sets of samples of one distribution differ as much as these: by the normal
// approximation, corrected for ties and for continuity. Returns 1 where a side has too few samples.
double rank_sum_p(std::span<const double> a, std::span<const double> b);

// Returns the p-values as adjusted by Benjamini and Hochberg: a set of tests that is chosen by `adjusted < alpha` holds
// chance findings at a rate of at most alpha, however many tests were made.
std::vector<double> adjusted_p(std::span<const double> p);

}  // namespace kq::tools
