// The ranks of the users of a run on each board, as GPU MODE's leaderboards have them: the best kernel of each user
// counts. Figures, noise and the rule of ties are those of tools/views/standings.h, so that users whose kernels do not
// differ beyond the noise share a rank, and the ranks after them are left out: 1, 2, 2, 4.
//
// A submission that ran a problem's own program is passed only if its run with secret seeds passed too, so a public run
// without a passing secret one is on no board.
#pragma once

#include <string>
#include <vector>

#include "core/records.h"
#include "tools/views/standings.h"

namespace kq::tools {

class UserRanks {
 public:
  void add(const RunRow& row);
  // Computes the ranks of the rows that were added.
  void finish();

  std::string table_text() const;
  std::string csv() const;
  bool is_empty() const { return ranks_.empty(); }

 private:
  StandingsBuilder standings_;
  std::vector<Standing> ranks_;  // the value of each is the user
};

}  // namespace kq::tools
