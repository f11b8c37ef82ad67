// Keeps the figures of kernels (family `kernel`) and the first place of each board (family `board`) up to date.
//
// The first place of a board is that of best_of() in core/leaderboard.h over all kernels of the board. A new kernel may
// take it only by being faster beyond the noise (is_better); no kernel of a board is better than the one that has it.
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

// Rows of the families `kernel` and `board` by family and key, as uncommitted writes will leave them; no value for a
// row that is removed. Rows that were only read may be here as well.
using PendingBoards = std::map<std::pair<Family, std::string>, std::optional<LeaderboardRow>>;

using WriteRow = std::function<void(Family family, std::string key, std::string value)>;

// Adds the row of one finished job. Calls `write` for each row that changes, and enters it into `pending`. Reads all
// kernels of the board where a kernel beats the one in the first place, or was measured again and is not beaten by it.
Expected<void> add_to_boards(const Store& store, PendingBoards& pending, const LeaderboardRow& row,
                             const WriteRow& write);

// Returns the keys of the kernels of this board whose first run is this job.
Expected<std::vector<std::string>> kernels_begun_by(const Store& store, const Hash& board, const Hash& kernel,
                                                    Sequence seq);

}  // namespace kq::store
