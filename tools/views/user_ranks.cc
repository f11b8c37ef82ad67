#include "tools/views/user_ranks.h"

#include <algorithm>

#include "tools/cli/text.h"
#include "tools/table/columns.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

constexpr double kNsPerS = 1e9;

// A submission without an author stands for itself.
std::string user_of(const LeaderboardRow& row) {
  return row.author.empty() ? row.label : row.author;
}

}  // namespace

void UserRanks::add(const RunRow& row) {
  if (!row.result) return;
  const auto made = board_row(row.entry.submission, *row.result, row.job.seq, row.job.finished_at_ms);
  if (!made) return;
  Board& board = boards_[{made->problem, made->device_model, made->problem_hash}];
  const auto [place, is_new] = board.try_emplace(user_of(*made), *made);
  if (!is_new && made->median_ns < place->second.median_ns) place->second = *made;
}

std::vector<UserRanks::Ranked> UserRanks::ranked(const Board& board) {
  std::vector<Ranked> rows;
  for (const auto& [_, row] : board) rows.push_back({.row = row});
  std::ranges::stable_sort(rows, {}, [](const Ranked& one) { return one.row.median_ns; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_tie = i > 0 && rows[i].row.median_ns == rows[i - 1].row.median_ns;
    rows[i].rank = is_tie ? rows[i - 1].rank : i + 1;
  }
  return rows;
}

std::string UserRanks::table_text() const {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [key, board] : boards_) {
    for (const auto& [rank, row] : ranked(board))
      lines.push_back(
          {key.problem, key.device_model, std::to_string(rank), user_of(row), row.label, time_text(row.median_ns)});
  }
  return table({{"problem"}, {"device"}, {"rank", true}, {"user"}, {"submission"}, {"time", true}}, lines);
}

std::string UserRanks::csv() const {
  std::string text = "problem,rank,user,submission,score_s,gpu,time\n";
  for (const auto& [key, board] : boards_) {
    for (const auto& [rank, row] : ranked(board)) {
      const Cell fields[] = {
          key.problem,      std::uint64_t{rank},         user_of(row), row.label, row.median_ns / kNsPerS,
          key.device_model, utc_time(row.finished_at_ms)};
      text += csv_line(fields);
    }
  }
  return text;
}

}  // namespace kq::tools
