// Keeps the figures of kernels (family `kernel`) and the first place of each board (family `board`) up to date.
//
// Theory of operation. A kernel takes the first place by being faster than the holder beyond the noise of a board that
// has as many kernels as this one has now, as holders() in core/ranks/comparison.h has it. Therefore no kernel of the
// board is faster than the holder beyond the noise, and ranked() gives rank 1 to the holder. It also lists the holder
// first, unless reruns or removals have changed which kernels held the place before.
//
// The kernels of a board are counted when one of them is written for the first time after a start, and the count is
// kept in memory. The figures of all kernels are read only where more than one may take the place: where the holder or
// a kernel that it does not beat was measured again, or where so many kernels were removed that the noise of the board
// has become smaller than another kernel's lead.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/leaderboard.h"
#include "store/store.h"

namespace kq::store {

// What is known of the kernels of one board, as uncommitted writes will leave them.
struct BoardKernels {
  std::size_t count = 0;
  // The largest lead of another kernel over the one in the first place, or more where that kernel was removed; no value
  // where the leads are unknown.
  std::optional<double> nearest_lead{};
};

struct PendingBoards {
  // Rows of the families `kernel` and `board` by family and key, as uncommitted writes will leave them; no value for a
  // row that is removed. Rows that were only read may be here as well.
  std::map<std::pair<Family, std::string>, std::optional<LeaderboardRow>> rows{};
  std::map<std::string, BoardKernels> boards{};  // by key of family `board`

  // Forgets the rows, or the boards, where there are more than this. It may be called after a commit only.
  void shrink(std::size_t rows_max, std::size_t boards_max);
};

// Enters a row into a commit. No value removes the row.
using WriteRow = std::function<void(Family family, std::string key, std::optional<std::string> value)>;

// Adds the row of one finished job. Calls `write` for each row that changes, and enters it into `pending`.
Expected<void> add_to_boards(const Store& store, PendingBoards& pending, const LeaderboardRow& row,
                             const WriteRow& write);

// Removes kernels, by their keys. None of them may have the first place of its board. Gives the place to another kernel
// where that one is faster beyond the noise of the smaller board.
Expected<void> remove_from_boards(const Store& store, PendingBoards& pending, const std::vector<std::string>& keys,
                                  const WriteRow& write);

// Returns the number of kernels on each device model of the boards with this hash.
Expected<std::map<std::string, std::size_t>> kernel_counts(const Store& store, const Hash& board);

// Returns the keys of the kernels of this board whose first run is this job.
Expected<std::vector<std::string>> kernels_begun_by(const Store& store, const Hash& board, const Hash& kernel,
                                                    Sequence seq);

}  // namespace kq::store
