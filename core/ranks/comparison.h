// Compares the figures of the kernels of one board.
//
// Theory of operation. Two equal kernels differ by more than the noise between them once in about twenty comparisons.
// On a board of k kernels the fastest of k figures is compared with the slowest one, so that equal kernels would be
// ranked by chance much more often. Therefore the noise is multiplied by the factor of Tukey's honestly significant
// difference: the quantile of the range of k figures, divided by that of two. Then a difference beyond the noise occurs
// among k equal kernels as seldom as between two.
//
// "Faster beyond the noise" is transitive for one factor, and what is faster beyond a larger factor is so beyond a
// smaller one. Both hold because the noise between a and c is at most that between a and b plus that between b and c.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kq {

// The most noise that counts of the slower of two kernels, as a share of its time. Otherwise a slow kernel with very
// scattered times would share the first rank. The noise of the faster kernel counts in full, so that no kernel is
// faster by the luck of its own scattered times.
inline constexpr double kComparedNoiseShareMax = 0.25;

// The figure of a kernel. Both members are finite.
struct Figure {
  double median_ns = 0;
  double noise_ns = 0;  // of median_ns
};

// Returns the factor of the noise on a board with this many kernels. It is 1 for two kernels, 1.61 for ten and 2.20 for
// a hundred. It never falls when the count grows.
double noise_factor(std::size_t kernel_count);

// Returns by how many times the noise between both `fast` is faster than `slow`. It is negative where `fast` is the
// slower one, and infinite where the noise of both is 0.
double lead(const Figure& fast, const Figure& slow);

// Returns which kernels have held the first place, as indices, the holder last. The kernels are in the order of time. A
// kernel takes the place where it is faster than the holder beyond the noise of a board that has the kernels so far,
// and later kernels that are slower take no record away.
//
// No kernel of the whole board is faster than the last holder beyond the noise of the whole board. A later kernel would
// have taken the place, because the factor of its time is smaller. So would an earlier one: it would be faster than the
// holder of its time as well, because every holder is faster than the one before it beyond a larger factor.
std::vector<std::size_t> holders(std::span<const Figure> in_time);

}  // namespace kq
