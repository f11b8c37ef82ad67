// The boards of problems with all their entries, and how their records came about. The order of entries and what
// replaces a record are those of core/leaderboard.h.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/leaderboard.h"
#include "core/records.h"

namespace kq::tools {

inline constexpr std::size_t kBoardEntriesMax = 500;  // the fastest entries of a board that are kept and shown

struct BoardEntry {
  LeaderboardRow row = {};
  std::string run = {};  // in which the job was seen first
  std::string baseline = {};
  double noise_pct = -1;          // of the median (LeaderboardRow::noise_ns), in percent of it; below 0: unknown
  bool is_self_reported = false;  // the time is that of the problem's own program
  std::size_t rank = 0;           // from 1; entries that do not differ beyond the noise share a rank
};

// One board: a problem, as board_hash() identifies it, a device model and a baseline.
struct Board {
  std::string problem = {};
  Hash problem_hash = {};
  std::string device_model = {};
  std::string baseline = {};
  std::vector<BoardEntry> entries = {};  // the fastest first
  std::vector<BoardEntry> history = {};  // each record in the order of time; the last is the present one
  std::size_t entry_count = 0;           // of all entries, also of those that are not kept

  std::string slug() const;  // a file name without an end, which differs between boards
};

class BoardCollector {
 public:
  void add(const RunRow& row);
  // Returns the boards by problem, device model and baseline.
  std::vector<Board> finish();

 private:
  using Key = std::tuple<std::string, std::string, std::string, Hash>;  // problem, device model, baseline, hash
  struct Entries {
    std::vector<BoardEntry> fastest;
    std::vector<BoardEntry> all_in_time;  // only those that may be records
    std::size_t count = 0;
  };
  std::map<Key, Entries> boards_;
  std::set<Sequence> seen_;  // a job may be in several runs
};

// Returns whether two entries do not differ beyond the noise (is_better in core/leaderboard.h).
bool is_tied(const BoardEntry& a, const BoardEntry& b);

}  // namespace kq::tools
