// The kernels of boards with their figures and ranks. Every board that a tool prints is made of these standings, so
// that all of them agree: those of a run, of several runs, of the values of a column, of users, and the pages for a
// server.
//
// The figure, the noise, the rule of ties and the least number of samples are those of core/leaderboard.h. Where boards
// are split by a column, a kernel has one figure over all its jobs, and a rank among the kernels of each value.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"

namespace kq::tools {

// One kernel of a board.
struct Standing {
  RankedRow row = {};
  std::string value = {};                   // of the column by which the boards are split; empty: they are not split
  std::vector<std::string> run_names = {};  // the runs with jobs of the kernel, that of the first job first
  bool is_self_reported = false;            // the time is that of the problem's own program
  bool are_ties_known = true;               // false for a row of the broker's boards, which keep the first place only

  std::string run() const { return run_names.empty() ? "" : run_names.front(); }
};

// Returns the name of the row's submitter, without the name of the run behind which a sweep hides it; empty where it is
// not known.
std::string submitter_in(const RunRow& row);

// Returns whether two standings are of one board: of one value, problem, device model and board_hash().
bool is_same_board(const Standing& a, const Standing& b);
// Returns the first `count` kernels of each board; a board's kernels follow each other.
std::vector<Standing> first_of_each_board(std::span<const Standing> standings, std::size_t count);

// Makes standings of the rows of runs. It keeps one row for each passed job.
class StandingsBuilder {
 public:
  // Adds a job of a run. A job of several runs counts once for each value and each name of its problem, because a
  // problem has a board for each name.
  void add(const RunRow& row, const std::string& value = {});
  // Returns the kernels by value, problem, device model and board, and those of a board by their ranks. Values and
  // problems are in the natural order of names.
  std::vector<Standing> finish() const;

 private:
  struct Job {
    std::string value;
    std::vector<std::string> run_names;
    bool is_self_reported = false;
  };
  std::vector<Job> jobs_;
  std::vector<LeaderboardRow> rows_;                                             // of jobs_
  std::map<std::tuple<std::string, std::string, Sequence>, std::size_t> index_;  // in jobs_, by value, name and job
};

}  // namespace kq::tools
