// Leaderboards as the tools print them: the best rows, and summary figures for each device model.
#pragma once

#include <map>
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

// The figures of one device model and one baseline. Speedups of different ones are never combined.
struct DeviceSummary {
  std::string device_model;
  Baseline baseline = Baseline::eager;
  std::size_t problem_count = 0;  // problems with this baseline, solved or not
  std::size_t solved_count = 0;
  double geometric_mean_speedup = 0;              // over the solved problems
  std::vector<std::pair<double, double>> fast_p;  // p, and the fraction of all problems solved that fast
};

struct Leaderboard {
  std::string run;                                   // empty for the boards of all runs
  std::size_t problem_count = 0;                     // distinct problems of the run, solved or not; or of the boards
  std::size_t left_out_count = 0;                    // passed jobs that are left out because of the guard's findings
  std::vector<RankedRow> rows;                       // the first place of each board
  std::map<Baseline, std::size_t> problem_counts{};  // the problem_count by baseline

  std::vector<DeviceSummary> summaries() const;
};

// Leaves out submissions with findings of the guard where this is asked for.
Expected<Leaderboard> leaderboard_of_run(Source& source, const std::string& run, bool leaves_out_findings = false);
Expected<Leaderboard> leaderboard_of_boards(Source& source);

// Returns what a reader of the row must know besides its time, such as " (fallback)"; "" for nothing.
std::string remarks(const LeaderboardRow& row);

std::string leaderboard_table(const Leaderboard& board);
std::string leaderboard_csv(const Leaderboard& board);
producer::Json leaderboard_json(const Leaderboard& board);

// Makes a leaderboard of the rows of a run. Keeps one row for each kernel.
class LeaderboardBuilder {
 public:
  explicit LeaderboardBuilder(std::string run, bool leaves_out_findings = false)
      : run_(std::move(run)), leaves_out_findings_(leaves_out_findings) {}
  void add(const RunRow& row);
  Leaderboard finish();

 private:
  std::string run_;
  bool leaves_out_findings_;
  std::map<Baseline, std::set<std::pair<std::string, Hash>>> problems_;
  std::vector<LeaderboardRow> passed_;
  std::size_t left_out_count_ = 0;
};

}  // namespace kq::tools
