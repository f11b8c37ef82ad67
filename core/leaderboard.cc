#include "core/leaderboard.h"

#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

namespace kq {
namespace {

std::string shortest(const std::optional<double>& value) {
  if (!value) return "default";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, *value);
  return {digits, end.ptr};
}

}  // namespace

Hash board_hash(const Problem& problem, Streams streams, Graphs graphs) {
  std::string text;
  if (problem.precision != Precision::as_given || problem.rtol || problem.atol) {
    text += " precision " + std::string(to_string(problem.precision)) + " rtol " + shortest(problem.rtol) + " atol " +
            shortest(problem.atol);
  }
  if (streams != Streams::reject) text += " streams " + std::string(to_string(streams));
  if (graphs != Graphs::reject) text += " graphs " + std::string(to_string(graphs));
  return text.empty() ? problem.hash : sha256(to_hex(problem.hash) + text);
}

std::optional<LeaderboardRow> board_row(const Submission& submission, const Result& result, Sequence seq,
                                        std::int64_t finished_at_ms) {
  const Measurement* measurement = measurement_of(result.verdict);
  if (!row_of(name_of(result.verdict)).ranks || measurement == nullptr || measurement->submission.sample_count == 0 ||
      !runs_all_workloads(submission.problem))
    return std::nullopt;
  const bool is_decoy = result.kernels_ran && result.kernels_ran->is_decoy;
  if (is_decoy && result.kernels_ran->are_own_wanted) return std::nullopt;
  const Trials& trials = submission.trials;
  return LeaderboardRow{.problem = submission.problem.name,
                        .problem_hash = board_hash(submission.problem, trials.streams, trials.graphs),
                        .device_model = result.device.model,
                        .seq = seq,
                        .label = submission.label,
                        .author = submission.author,
                        .backend = std::string(to_string(submission.backend)),
                        .median_ns = measurement->submission.median_ns,
                        .reference_ns = measurement->reference.median_ns,
                        .speedup = speedup(*measurement),
                        .finished_at_ms = finished_at_ms,
                        .fell_back = result.extensions && result.extensions->fell_back,
                        .is_decoy = is_decoy,
                        .streams = trials.streams,
                        .graphs = trials.graphs,
                        .has_findings = !result.findings.empty()};
}

bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder) {
  return is_better(challenger, holder.median_ns);
}

bool is_better(const LeaderboardRow& challenger, double holder_median_ns) {
  return challenger.median_ns < holder_median_ns;
}

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

double fast_p(std::span<const LeaderboardRow> best, std::size_t problem_count, double p) {
  if (problem_count == 0) return 0;
  std::size_t n = 0;
  // For p = 0 a solved problem counts even where its speedup is unknown.
  for (const LeaderboardRow& row : best) n += p <= 0 || row.speedup > p ? 1 : 0;
  return static_cast<double>(n) / static_cast<double>(problem_count);
}

}  // namespace kq
