#include "core/leaderboard.h"

#include <cmath>
#include <map>
#include <tuple>

namespace kq {

bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder) { return challenger.median_ns < holder.median_ns; }

std::vector<LeaderboardRow> best_of(std::span<const LeaderboardRow> passed) {
  std::map<std::tuple<std::string, std::string, Hash>, LeaderboardRow> best;
  for (const LeaderboardRow& row : passed) {
    const auto [place, is_new] = best.try_emplace({row.problem, row.device_model, row.problem_hash}, row);
    if (!is_new && is_better(row, place->second)) place->second = row;
  }
  std::vector<LeaderboardRow> rows;
  rows.reserve(best.size());
  for (auto& [key, row] : best) rows.push_back(std::move(row));
  return rows;
}

double geometric_mean_speedup(std::span<const LeaderboardRow> rows) {
  double logs = 0;
  std::size_t n = 0;
  for (const LeaderboardRow& row : rows) {
    if (row.speedup <= 0) continue;
    logs += std::log(row.speedup);
    ++n;
  }
  return n == 0 ? 0 : std::exp(logs / static_cast<double>(n));
}

double fast_p(std::span<const LeaderboardRow> best, std::size_t problems_n, double p) {
  if (problems_n == 0) return 0;
  std::size_t n = 0;
  for (const LeaderboardRow& row : best) n += p <= 0 || row.speedup > p ? 1 : 0;  // solved counts, timed or not
  return static_cast<double>(n) / static_cast<double>(problems_n);
}

}  // namespace kq
