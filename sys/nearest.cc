#include "sys/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace kq::sys {
namespace {

// Returns the optimal string alignment distance: the number of insertions, deletions, substitutions and transpositions
// of neighbours that turn `a` into `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// A longer word is hardly a typing error, and computing the distance costs the product of the lengths.
constexpr std::size_t kWordBytesMax = 64;

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kWordBytesMax) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const std::size_t changes = distance(word, candidate);
    if (changes > std::max<std::size_t>(1, candidate.size() / 3)) continue;
    if (best && changes >= best_distance) continue;
    best = candidate;
    best_distance = changes;
  }
  return best;
}

}  // namespace kq::sys
