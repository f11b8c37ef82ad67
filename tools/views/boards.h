// Leaderboards as the tools show them: the best rows, and the summary figures per device model.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"
#include "producer/client/json.h"
#include "tools/cli/source.h"

namespace kq::tools {

// Speeds of different device models are never mixed in one figure.
struct DeviceSummary {
  std::string device_model;
  std::size_t solved_count = 0;
  double geometric_mean_speedup = 0;              // of the solved ones
  std::vector<std::pair<double, double>> fast_p;  // p and the fraction of problem_count
};

struct Leaderboard {
  std::string run;             // empty: all boards
  std::size_t problem_count = 0;  // distinct problems of the run, solved or not; or of the boards
  std::vector<LeaderboardRow> rows;

  std::vector<DeviceSummary> summaries() const;
};

Expected<Leaderboard> leaderboard_of_run(Source& source, const std::string& run);
Expected<Leaderboard> leaderboard_of_boards(Source& source);

std::string leaderboard_table(const Leaderboard& board);
std::string leaderboard_csv(const Leaderboard& board);
producer::Json leaderboard_json(const Leaderboard& board);

// Gathers rows of a run, however many, and keeps only the best.
class LeaderboardBuilder {
 public:
  explicit LeaderboardBuilder(std::string run) : run_(std::move(run)) {}
  void add(const RunRow& row);
  Leaderboard finish();

 private:
  std::string run_;
  std::set<std::pair<std::string, Hash>> problems_;
  std::vector<LeaderboardRow> passed_;
  std::size_t prune_at_ = kPruneRowsMin;

  static constexpr std::size_t kPruneRowsMin = 4096;
};

}  // namespace kq::tools
