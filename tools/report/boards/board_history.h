// The boards of problems with all their kernels, and how their records came about. Figures, noise and ranks are those
// of tools/views/standings.h.
#pragma once

#include <string>
#include <vector>

#include "core/records.h"
#include "tools/views/standings.h"

namespace kq::tools {

inline constexpr std::size_t kBoardEntriesMax = 500;  // the first kernels of a board that are shown

// One board: a problem, as board_hash() identifies it, a device model and a baseline.
struct Board {
  std::string problem = {};
  Hash problem_hash = {};
  std::string device_model = {};
  std::string baseline = {};
  std::vector<Standing> entries = {};  // by rank
  std::vector<Standing> history = {};  // each record in the order of time; the last is the first entry
  std::size_t entry_count = 0;         // of all kernels, also of those that are not shown

  std::string slug() const;  // a file name without an end, which differs between boards
};

class BoardCollector {
 public:
  void add(const RunRow& row) { standings_.add(row); }
  // Returns the boards by problem, device model and baseline.
  std::vector<Board> finish() const;

 private:
  StandingsBuilder standings_;
};

}  // namespace kq::tools
