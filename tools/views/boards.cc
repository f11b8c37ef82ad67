#include "tools/views/boards.h"

#include <charconv>
#include <cstdio>
#include <map>

#include "tools/cli/text.h"
#include "tools/table/cell.h"
#include "tools/table/columns.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

// The thresholds p of fast_p that KernelBench's own analysis prints.
constexpr double kThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};

std::string short_number(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

Cell known(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}
Cell known(double value) {
  return value > 0 ? Cell(value) : Cell();
}

struct BoardColumn {
  std::string_view name;
  Cell (*get)(const LeaderboardRow& row);
};
// As in tools/table/columns.h, columns are only ever added at the end.
constexpr BoardColumn kBoardColumns[] = {
    {"problem", [](const LeaderboardRow& row) { return known(row.problem); }},
    {"problem_hash", [](const LeaderboardRow& row) { return known(to_hex(row.problem_hash)); }},
    {"device_model", [](const LeaderboardRow& row) { return known(row.device_model); }},
    {"job_id", [](const LeaderboardRow& row) { return Cell(std::uint64_t{row.seq}); }},
    {"label", [](const LeaderboardRow& row) { return known(row.label); }},
    {"author", [](const LeaderboardRow& row) { return known(row.author); }},
    {"backend", [](const LeaderboardRow& row) { return known(row.backend); }},
    {"median_us", [](const LeaderboardRow& row) { return known(row.median_ns / 1e3); }},
    {"reference_us", [](const LeaderboardRow& row) { return known(row.reference_ns / 1e3); }},
    {"speedup", [](const LeaderboardRow& row) { return known(row.speedup); }},
    {"finished_at", [](const LeaderboardRow& row) { return utc_time(row.finished_at_ms); }},
    {"fell_back", [](const LeaderboardRow& row) { return Cell(row.fell_back); }},
    {"submitter", [](const LeaderboardRow& row) { return known(row.submitter); }},
    {"decoy", [](const LeaderboardRow& row) { return Cell(row.is_decoy); }},
    {"streams", [](const LeaderboardRow& row) { return Cell(std::string(to_string(row.streams))); }},
    {"graphs", [](const LeaderboardRow& row) { return Cell(std::string(to_string(row.graphs))); }},
    {"findings", [](const LeaderboardRow& row) { return Cell(row.has_findings); }},
};

std::string summary_line(const DeviceSummary& summary, std::size_t problem_count) {
  std::string line = printable(summary.device_model) + ": " + std::to_string(summary.solved_count) + " of " +
                     std::to_string(problem_count) + (problem_count == 1 ? " problem" : " problems") +
                     " solved, geometric mean speedup " + speedup_text(summary.geometric_mean_speedup) + ", fast_p";
  for (const auto& [p, fraction] : summary.fast_p) line += " " + short_number(p) + ":" + fixed(fraction, 2);
  return line + '\n';
}

// What a reader of the row must know besides its time.
std::string remarks(const LeaderboardRow& row) {
  std::string text;
  if (row.streams != Streams::reject) text += " (streams " + std::string(to_string(row.streams)) + ")";
  if (row.graphs != Graphs::reject) text += " (graphs " + std::string(to_string(row.graphs)) + ")";
  if (row.fell_back) text += " (fallback)";
  if (row.is_decoy) text += " (decoy)";
  if (row.has_findings) text += " (findings)";
  return text;
}

}  // namespace

std::vector<DeviceSummary> Leaderboard::summaries() const {
  std::map<std::string, std::vector<LeaderboardRow>> by_device;
  for (const LeaderboardRow& row : rows) by_device[row.device_model].push_back(row);
  std::vector<DeviceSummary> found;
  for (const auto& [device_model, best] : by_device) {
    DeviceSummary& summary = found.emplace_back();
    summary.device_model = device_model;
    summary.solved_count = best.size();
    summary.geometric_mean_speedup = kq::geometric_mean_speedup(best);
    for (double p : kThresholds) summary.fast_p.emplace_back(p, kq::fast_p(best, problem_count, p));
  }
  return found;
}

void LeaderboardBuilder::add(const RunRow& row) {
  const Submission& submission = row.entry.submission;
  problems_.emplace(submission.problem.name,
                    board_hash(submission.problem, submission.trials.streams, submission.trials.graphs));
  if (!row.result) return;
  if (auto ranked = board_row(row.entry.submission, *row.result, row.job.seq, row.job.finished_at_ms)) {
    if (leaves_out_findings_ && ranked->has_findings) {
      ++left_out_count_;
      return;
    }
    ranked->submitter = row.entry.submitter;
    passed_.push_back(std::move(*ranked));
  }
  if (passed_.size() < prune_at_) return;
  passed_ = best_of(passed_);
  prune_at_ = kPruneRowsMin + 2 * passed_.size();
}

Leaderboard LeaderboardBuilder::finish() {
  return {.run = run_, .problem_count = problems_.size(), .left_out_count = left_out_count_, .rows = best_of(passed_)};
}

Expected<Leaderboard> leaderboard_of_run(Source& source, const std::string& run, bool leaves_out_findings) {
  LeaderboardBuilder builder(run, leaves_out_findings);
  bool any = false;
  KQ_TRY(each_row(source, run, [&](const RunRow& row) {
    any = true;
    builder.add(row);
    return Expected<void>();
  }));
  if (!any) return failure(Error{ErrorKind::not_found, "there is no run '" + printable(run) + "'"});
  return builder.finish();
}

Expected<Leaderboard> leaderboard_of_boards(Source& source) {
  Expected<std::vector<LeaderboardRow>> rows = all_boards(source);
  if (!rows) return failure(rows.error());
  std::set<Hash> problems;
  for (const LeaderboardRow& row : *rows) problems.insert(row.problem_hash);
  return Leaderboard{.run = "", .problem_count = problems.size(), .rows = std::move(*rows)};
}

std::string leaderboard_table(const Leaderboard& board) {
  if (board.rows.empty())
    return board.left_out_count > 0 ? "no job has passed without findings yet\n" : "no job has passed yet\n";
  std::vector<std::vector<std::string>> cells;
  bool any_fallback = false;
  bool any_decoy = false;
  bool any_findings = false;
  for (const LeaderboardRow& row : board.rows) {
    cells.push_back({row.problem, row.device_model, time_text(row.median_ns), time_text(row.reference_ns),
                     speedup_text(row.speedup), row.label, row.backend + remarks(row), row.author, row.submitter});
    any_fallback = any_fallback || row.fell_back;
    any_decoy = any_decoy || row.is_decoy;
    any_findings = any_findings || row.has_findings;
  }
  std::string text = table({{"problem"},
                            {"device"},
                            {"median", true},
                            {"reference", true},
                            {"speedup", true},
                            {"label"},
                            {"backend"},
                            {"author"},
                            {"submitter"}},
                           cells);
  if (any_fallback) text += "(fallback): an extension does not compile, and the submission runs without it\n";
  if (any_decoy) text += "(decoy): the submission has kernels, and the GPU ran none of them\n";
  if (any_findings) text += "(findings): the guard has found something for review; the column findings has it\n";
  for (const DeviceSummary& summary : board.summaries()) text += summary_line(summary, board.problem_count);
  return text;
}

std::string leaderboard_csv(const Leaderboard& board) {
  std::vector<Cell> cells;
  for (const BoardColumn& column : kBoardColumns) cells.emplace_back(std::string(column.name));
  std::string text = csv_line(cells);
  for (const LeaderboardRow& row : board.rows) {
    cells.clear();
    for (const BoardColumn& column : kBoardColumns) cells.push_back(column.get(row));
    text += csv_line(cells);
  }
  return text;
}

producer::Json leaderboard_json(const Leaderboard& board) {
  producer::JsonArray rows;
  for (const LeaderboardRow& row : board.rows) {
    producer::JsonObject object;
    for (const BoardColumn& column : kBoardColumns) object.emplace_back(column.name, to_json(column.get(row)));
    rows.push_back({std::move(object)});
  }
  producer::JsonArray summaries;
  for (const DeviceSummary& summary : board.summaries()) {
    producer::JsonObject fast;
    for (const auto& [p, fraction] : summary.fast_p) fast.emplace_back(short_number(p), producer::Json{fraction});
    summaries.push_back(
        {producer::JsonObject{{"device_model", {summary.device_model}},
                              {"solved_n", {static_cast<std::int64_t>(summary.solved_count)}},
                              {"geometric_mean_speedup", to_json(known(summary.geometric_mean_speedup))},
                              {"fast_p", {std::move(fast)}}}});
  }
  return {producer::JsonObject{{"schema", {"kq.leaderboard/1"}},
                               {"run", to_json(known(board.run))},
                               {"problems_n", {static_cast<std::int64_t>(board.problem_count)}},
                               {"rows", {std::move(rows)}},
                               {"summaries", {std::move(summaries)}}}};
}

}  // namespace kq::tools
