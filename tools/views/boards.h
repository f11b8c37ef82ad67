// Leaderboards as the tools print them: the first kernels of each board, and summary figures for each device model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"
#include "tools/cli/source.h"
#include "tools/views/standings.h"

namespace kq::tools {

// The value of a submission that has none: no author, or not the tag.
inline constexpr std::string_view kNoValue = "-";

struct BoardOptions {
  std::string by{};                  // "author", "backend" or "tag.NAME": each value has boards of its own; empty: none
  std::size_t top = 1;               // kernels of each board
  bool leaves_out_findings = false;  // submissions with findings of the guard
  std::string problem{};             // the only problem that is shown; empty: all

  // Returns whether tables show ranks, because boards are split or list several kernels.
  bool is_ranking() const { return !by.empty() || top > 1; }
};
// Fails for a column that splits no boards.
Expected<void> validate(const BoardOptions& options);

// The figures of one value, device model and baseline. Speedups of different ones are never combined. Problems that
// their own programs time have no reference and do not count.
struct DeviceSummary {
  std::string value;  // of BoardOptions::by
  std::string device_model;
  Baseline baseline = Baseline::eager;
  std::size_t problem_count = 0;  // problems with this value and baseline, solved or not
  std::size_t solved_count = 0;
  double geometric_mean_speedup = 0;              // over the solved problems
  std::vector<std::pair<double, double>> fast_p;  // p, and the fraction of all problems solved that fast
};

struct Leaderboard {
  std::string run;                   // empty for the boards of all runs
  std::string by;                    // BoardOptions::by
  bool is_ranking = false;           // BoardOptions::is_ranking()
  std::size_t problem_count = 0;     // distinct problems of the run, solved or not; or of the boards
  std::size_t referenced_count = 0;  // of these, those whose kernels are compared with a reference
  std::size_t left_out_count = 0;    // passed jobs that are left out because of the guard's findings
  std::size_t partial_count = 0;     // passed jobs that are on no board, because they ran a part of the workloads
  std::vector<Standing> rows;        // the first kernels of each board
  std::map<std::pair<std::string, Baseline>, std::size_t> problem_counts{};  // by value and baseline
  // Of BoardOptions::problem: the other names under which jobs that count on its boards were sent.
  std::set<std::string> other_names{};
  // The values, device models and baselines of which a job was judged, whether it passed or not.
  std::set<std::tuple<std::string, std::string, Baseline>> judged{};

  // Returns a summary also where no problem is solved.
  std::vector<DeviceSummary> summaries() const;
};

// Returns the boards of a run, or of all runs where its name is empty.
Expected<Leaderboard> leaderboard_of_runs(Source& source, const std::string& run, const BoardOptions& options);
// Returns the boards that the broker keeps. They have the first place of each board, and not the kernels that share it.
// Problems with equal files are one board there, under the name that the kernel in the first place was submitted to.
Expected<Leaderboard> leaderboard_of_boards(Source& source);

// Makes a leaderboard of the rows of runs.
class LeaderboardBuilder {
 public:
  explicit LeaderboardBuilder(std::string run, BoardOptions options = {})
      : run_(std::move(run)), options_(std::move(options)) {}
  void add(const RunRow& row);
  Leaderboard finish();

 private:
  bool is_ranked(const RunRow& row) const;

  std::string run_;
  BoardOptions options_;
  StandingsBuilder standings_;
  std::set<std::pair<std::string, Hash>> problems_;
  std::map<std::pair<std::string, Baseline>, std::set<std::pair<std::string, Hash>>> referenced_;
  std::map<Hash, std::set<std::string>> other_names_;  // of the boards of jobs that are not of BoardOptions::problem
  std::set<std::tuple<std::string, std::string, Baseline>> judged_;
  std::size_t left_out_count_ = 0;
  std::size_t partial_count_ = 0;
};

}  // namespace kq::tools
