#include "tools/views/ranking.h"

#include <algorithm>
#include <cstdio>

#include "tools/cli/natural_order.h"
#include "tools/cli/text.h"
#include "tools/table/cell.h"
#include "tools/table/columns.h"
#include "tools/table/csv.h"
#include "tools/table/selection.h"

namespace kq::tools {
namespace {

constexpr std::string_view kNoValue = "-";

// Returns the value by which boards are split; "-" for a submission without one.
std::string value_of(const RunRow& row, const std::string& by) {
  const Submission& submission = row.entry.submission;
  std::string value;
  if (by == "author") value = submission.author;
  if (by == "backend") value = to_string(submission.backend);
  if (by.starts_with(kTagPrefix)) {
    const Cell cell = tag_cell(row, by);
    if (const auto* text = std::get_if<std::string>(&cell)) value = *text;
  }
  return value.empty() && !by.empty() ? std::string(kNoValue) : value;
}

std::string fixed(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

}  // namespace

Expected<void> validate(const RankingOptions& options) {
  const std::string& by = options.by;
  const bool is_tag = by.starts_with(kTagPrefix) && by.size() > kTagPrefix.size();
  if (by.empty() || by == "author" || by == "backend" || is_tag) return {};
  return bad_input("--by must be author, backend or tag.NAME, got '" + printable(by) + "'");
}

bool Ranking::BoardLess::operator()(const Board& a, const Board& b) const {
  if (const auto order = natural_order(std::get<0>(a), std::get<0>(b)); order != 0) return order < 0;
  const auto group = [](const Board& one) { return std::tie(std::get<1>(one), std::get<2>(one)); };
  if (group(a) != group(b)) return group(a) < group(b);
  if (const auto order = natural_order(std::get<3>(a), std::get<3>(b)); order != 0) return order < 0;
  return std::get<4>(a) < std::get<4>(b);
}

void Ranking::add(const std::string& run, const RunRow& row) {
  const Submission& submission = row.entry.submission;
  const std::string value = value_of(row, options_.by);
  const std::string baseline(to_string(submission.trials.baseline));
  problems_[{value, baseline}].emplace(submission.problem.name, board_hash(submission));
  if (!row.result) return;
  auto ranked = board_row(submission, *row.result, row.job.seq, row.job.finished_at_ms);
  if (!ranked) return;
  std::vector<Entry>& board = boards_[{value, baseline, ranked->device_model, ranked->problem, ranked->problem_hash}];
  const auto place = std::upper_bound(board.begin(), board.end(), *ranked, [](const LeaderboardRow& a, const Entry& b) {
    return a.median_ns < b.row.median_ns;
  });
  if (static_cast<std::size_t>(place - board.begin()) >= options_.top) return;
  // The same job may be a row of several runs.
  if (std::ranges::any_of(board, [&](const Entry& one) { return one.row.seq == ranked->seq; })) return;
  board.insert(place, Entry{run, std::move(*ranked)});
  if (board.size() > options_.top) board.pop_back();
}

std::map<Ranking::Group, std::vector<LeaderboardRow>> Ranking::best_by_group() const {
  std::map<Group, std::vector<LeaderboardRow>> groups;
  for (const auto& [key, board] : boards_)
    groups[{std::get<0>(key), std::get<1>(key), std::get<2>(key)}].push_back(board.front().row);
  return groups;
}

std::string Ranking::table() const {
  if (boards_.empty()) return "no job has passed yet\n";
  const bool is_split = !options_.by.empty();
  const bool is_ranked = options_.top > 1;
  std::vector<std::vector<std::string>> cells;
  for (const auto& [key, board] : boards_) {
    for (std::size_t i = 0; i < board.size(); ++i) {
      const LeaderboardRow& row = board[i].row;
      std::vector<std::string>& line = cells.emplace_back();
      if (is_split) line.push_back(std::get<0>(key));
      line.insert(line.end(), {row.problem, row.device_model});
      if (is_ranked) line.push_back(std::to_string(i + 1));
      line.insert(line.end(),
                  {time_text(row.median_ns), time_text(row.reference_ns), std::get<1>(key), speedup_text(row.speedup),
                   row.label, board[i].run, row.backend + (row.fell_back ? " (fallback)" : ""), row.author});
    }
  }
  std::vector<TableColumn> columns;
  if (is_split) columns.push_back({options_.by});
  columns.insert(columns.end(), {{"problem"}, {"device"}});
  if (is_ranked) columns.push_back({"rank", true});
  columns.insert(columns.end(), {{"median", true},
                                 {"reference", true},
                                 {"baseline"},
                                 {"speedup", true},
                                 {"label"},
                                 {"run"},
                                 {"backend"},
                                 {"author"}});
  std::string text = kq::tools::table(columns, cells);
  for (const auto& [group, best] : best_by_group()) {
    const auto& [value, baseline, device] = group;
    const std::size_t tried = problems_.at({value, baseline}).size();
    text += (is_split ? printable(value) + " on " : "") + printable(device) + ", baseline " + baseline + ": " +
            std::to_string(best.size()) + " of " + std::to_string(tried) + (tried == 1 ? " problem" : " problems") +
            " solved, " + std::to_string(std::ranges::count_if(best, [](const auto& row) { return row.speedup > 1; })) +
            " faster than the reference, geometric mean speedup " + speedup_text(geometric_mean_speedup(best)) +
            ", fast_1 " + fixed(fast_p(best, tried, 1)) + '\n';
  }
  return text;
}

std::string Ranking::csv() const {
  std::string text = csv_line(std::vector<Cell>{
      Cell("by"), Cell("value"), Cell("problem"), Cell("problem_hash"), Cell("device_model"), Cell("baseline"),
      Cell("rank"), Cell("run"), Cell("label"), Cell("job_id"), Cell("author"), Cell("backend"), Cell("median_us"),
      Cell("reference_us"), Cell("speedup"), Cell("finished_at")});
  for (const auto& [key, board] : boards_) {
    for (std::size_t i = 0; i < board.size(); ++i) {
      const LeaderboardRow& row = board[i].row;
      text += csv_line(std::vector<Cell>{
          options_.by, std::get<0>(key), row.problem, to_hex(row.problem_hash), row.device_model, std::get<1>(key),
          std::uint64_t{i + 1}, board[i].run, row.label, std::uint64_t{row.seq}, row.author, row.backend,
          row.median_ns / 1e3, row.reference_ns / 1e3, row.speedup, utc_time(row.finished_at_ms)});
    }
  }
  return text;
}

producer::Json Ranking::json() const {
  producer::JsonArray rows;
  for (const auto& [key, board] : boards_) {
    for (std::size_t i = 0; i < board.size(); ++i) {
      const LeaderboardRow& row = board[i].row;
      rows.push_back({producer::JsonObject{{"value", {std::get<0>(key)}},
                                           {"problem", {row.problem}},
                                           {"problem_hash", {to_hex(row.problem_hash)}},
                                           {"device_model", {row.device_model}},
                                           {"baseline", {std::get<1>(key)}},
                                           {"rank", {static_cast<std::int64_t>(i + 1)}},
                                           {"run", {board[i].run}},
                                           {"label", {row.label}},
                                           {"job_id", {static_cast<std::int64_t>(row.seq)}},
                                           {"author", {row.author}},
                                           {"backend", {row.backend}},
                                           {"median_us", {row.median_ns / 1e3}},
                                           {"reference_us", {row.reference_ns / 1e3}},
                                           {"speedup", {row.speedup}},
                                           {"finished_at", to_json(utc_time(row.finished_at_ms))}}});
    }
  }
  producer::JsonArray summaries;
  for (const auto& [group, best] : best_by_group()) {
    const std::size_t tried = problems_.at({std::get<0>(group), std::get<1>(group)}).size();
    summaries.push_back({producer::JsonObject{{"value", {std::get<0>(group)}},
                                              {"baseline", {std::get<1>(group)}},
                                              {"device_model", {std::get<2>(group)}},
                                              {"problems", {static_cast<std::int64_t>(tried)}},
                                              {"solved", {static_cast<std::int64_t>(best.size())}},
                                              {"geometric_mean_speedup", {geometric_mean_speedup(best)}},
                                              {"fast_1", {fast_p(best, tried, 1)}}}});
  }
  return {producer::JsonObject{{"schema", {"kq.ranking/1"}},
                               {"by", {options_.by}},
                               {"rows", {std::move(rows)}},
                               {"summaries", {std::move(summaries)}}}};
}

}  // namespace kq::tools
