// The ranks of the users of a run on each board, as GPU MODE's leaderboards have them: the best passed submission of
// each user counts, equal times share a rank, and the ranks after them are left out: 1, 2, 2, 4.
//
// A submission that ran a problem's own program is passed only if its run with secret seeds passed too, so a public run
// without a passing secret one is on no board.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"

namespace kq::tools {

class UserRanks {
 public:
  void add(const RunRow& row);
  std::string table_text() const;
  std::string csv() const;
  bool is_empty() const { return boards_.empty(); }

 private:
  struct Ranked {
    std::size_t rank = 0;
    LeaderboardRow row;
  };
  struct BoardKey {
    std::string problem, device_model;
    Hash hash;
    auto operator<=>(const BoardKey&) const = default;
  };
  using Board = std::map<std::string, LeaderboardRow>;  // the best row, by user

  static std::vector<Ranked> ranked(const Board& board);
  std::map<BoardKey, Board> boards_;
};

}  // namespace kq::tools
