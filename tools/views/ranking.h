// Boards with more than the best kernel: the fastest kernels of each problem, by author, backend or tag.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"
#include "producer/client/json.h"

namespace kq::tools {

struct RankingOptions {
  std::string by{};     // "author", "backend" or "tag.NAME": each of its values has boards of its own; empty: none
  std::size_t top = 1;  // kernels of each board
};
// Fails for a column that splits no boards.
Expected<void> validate(const RankingOptions& options);

// The ranks of the passed jobs of one or several runs. A board has the kernels of one problem on one device model,
// under one baseline and one value of `by`: times against eager references and against compiled ones are never
// compared.
class Ranking {
 public:
  explicit Ranking(RankingOptions options) : options_(std::move(options)) {}
  void add(const std::string& run, const RunRow& row);

  std::string table() const;
  std::string csv() const;
  producer::Json json() const;

 private:
  struct Entry {
    std::string run;
    LeaderboardRow row;
  };
  // Value of `by`, baseline, device model, problem, hash of the board.
  using Board = std::tuple<std::string, std::string, std::string, std::string, Hash>;
  // Value of `by`, baseline, device model.
  using Group = std::tuple<std::string, std::string, std::string>;

  std::map<Group, std::vector<LeaderboardRow>> best_by_group() const;

  RankingOptions options_;
  // Orders by the natural order of names.
  struct BoardLess {
    bool operator()(const Board& a, const Board& b) const;
  };
  std::map<Board, std::vector<Entry>, BoardLess> boards_;  // the fastest first, at most `top`
  // Tried problems, by the value of `by` and the baseline.
  std::map<std::pair<std::string, std::string>, std::set<std::pair<std::string, Hash>>> problems_;
};

}  // namespace kq::tools
