// Leaderboards that the tests of boards share.
#pragma once

#include <vector>

#include "tools/testing.h"
#include "tools/views/boards.h"

namespace kq::tools {

// Returns the leaderboard of a run of these rows.
inline Leaderboard built(const std::vector<RunRow>& rows) {
  LeaderboardBuilder builder("r1");
  for (const RunRow& row : rows) builder.add(row);
  return builder.finish();
}

// A board of two problems, of which one is solved twice and the other is not solved.
inline Leaderboard example() {
  RunRow fast = passed_row("relu/fast", 10'000, 20'000, 2);
  fast.entry.submitter = "ada";
  return built({passed_row("relu/slow", 20'000, 20'000, 1), fast,
                ended_row("gelu/wrong", VerdictName::wrong_answer, evidence("value"), 3), queued_row("relu/later", 4)});
}

}  // namespace kq::tools
