// The noise of a speedup on a board, of the rows that a broker returns.
#pragma once

#include "core/leaderboard.h"

namespace kq::producer {

// Returns the noise of the row's speedup, or 0 where that of one of its times is unknown.
double speedup_noise(const LeaderboardRow& row);

}  // namespace kq::producer
