#include "tools/report/compare/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kq::tools {

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  if (a.size() < kRankSumSamplesMin || b.size() < kRankSumSamplesMin) return 1;
  std::vector<std::pair<double, bool>> all;  // the value, and whether it is of `a`
  for (const double value : a) all.emplace_back(value, true);
  for (const double value : b) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  double rank_sum = 0;  // of `a`; equal values share the mean of their ranks
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const double rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    const double equal = static_cast<double>(end - i);
    ties += equal * equal * equal - equal;
    for (; i < end; ++i) rank_sum += all[i].second ? rank : 0;
  }
  const double n = static_cast<double>(a.size()), m = static_cast<double>(b.size()), both = n + m;
  const double u = rank_sum - n * (n + 1) / 2;
  const double variance = n * m / 12 * (both + 1 - ties / (both * (both - 1)));
  if (!(variance > 0)) return 1;  // all values are equal
  const double distance = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

std::vector<double> adjusted_p(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] > p[y]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double rank = static_cast<double>(p.size() - i);
    least = std::min(least, p[order[i]] * static_cast<double>(p.size()) / rank);
    adjusted[order[i]] = least;
  }
  return adjusted;
}

}  // namespace kq::tools
