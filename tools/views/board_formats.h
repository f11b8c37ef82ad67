// Leaderboards as a table for people, as CSV and as JSON. All three have the same rows, figures and ranks.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "producer/client/json.h"
#include "tools/views/boards.h"

namespace kq::tools {

// Returns what a reader of the row must know besides its time, such as " (fallback)"; "" for nothing.
std::string remarks(const LeaderboardRow& row);

std::string leaderboard_table(const Leaderboard& board);
std::string leaderboard_csv(const Leaderboard& board);
producer::Json leaderboard_json(const Leaderboard& board);

// Returns the names of problems that have several boards in these rows which a table could not tell apart.
std::set<std::string> shared_names(const std::vector<Standing>& rows);
// Returns the name of the row's problem, with a part of the board's hash where other boards share the name.
std::string board_name(const LeaderboardRow& row, const std::set<std::string>& shared_names);

// Returns a time with its noise, such as "~10.0 us ±1%"; "~" is for a busy machine.
std::string noisy_time_text(const LeaderboardRow& row);
std::string reference_text(const LeaderboardRow& row);
std::string noisy_speedup_text(const LeaderboardRow& row);
// Returns the rank, such as "1"; "≈ 1" where other kernels share it.
std::string rank_text(const RankedRow& row);

// Returns how many kernels share the rank, such as " (≈ 2 others)"; "" where none does.
std::string ties_text(const RankedRow& row);

// Says that kernels of a problem were sent under other names of its file, too; "" where there are none.
std::string other_names_text(const std::set<std::string>& names);

// What the hash, "~" and "≈" mean, as sentences for the text under a table.
inline constexpr std::string_view kSharedNamesMeaning =
    "(hash): problems of one name whose files, precisions or tolerances differ have boards of their own; the column "
    "problem_hash has the whole hash";
inline constexpr std::string_view kBusyMeans =
    "the machine was busy while this was measured; measure again on a quiet one";
inline constexpr std::string_view kTiedMeans =
    "kernels share the rank, because the noise is larger than their difference";

}  // namespace kq::tools
