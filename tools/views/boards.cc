#include "tools/views/boards.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "tools/cli/natural_order.h"
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
  Cell (*get)(const RankedRow& row);
};
// As in tools/table/columns.h, columns are only ever added at the end.
constexpr BoardColumn kBoardColumns[] = {
    {"problem", [](const RankedRow& row) { return known(row.problem); }},
    {"problem_hash", [](const RankedRow& row) { return known(to_hex(row.problem_hash)); }},
    {"device_model", [](const RankedRow& row) { return known(row.device_model); }},
    {"job_id", [](const RankedRow& row) { return Cell(std::uint64_t{row.seq}); }},
    {"label", [](const RankedRow& row) { return known(row.label); }},
    {"author", [](const RankedRow& row) { return known(row.author); }},
    {"backend", [](const RankedRow& row) { return known(row.backend); }},
    {"median_us", [](const RankedRow& row) { return known(row.median_ns / 1e3); }},
    {"reference_us", [](const RankedRow& row) { return known(row.reference_ns / 1e3); }},
    {"speedup", [](const RankedRow& row) { return known(row.speedup); }},
    {"finished_at", [](const RankedRow& row) { return utc_time(row.finished_at_ms); }},
    {"fell_back", [](const RankedRow& row) { return Cell(row.fell_back); }},
    {"submitter", [](const RankedRow& row) { return known(row.submitter); }},
    {"decoy", [](const RankedRow& row) { return Cell(row.is_decoy); }},
    {"streams", [](const RankedRow& row) { return Cell(std::string(to_string(row.streams))); }},
    {"graphs", [](const RankedRow& row) { return Cell(std::string(to_string(row.graphs))); }},
    {"findings", [](const RankedRow& row) { return Cell(row.has_findings); }},
    {"baseline", [](const RankedRow& row) { return Cell(std::string(to_string(row.baseline))); }},
    {"kernel_hash", [](const RankedRow& row) { return known(to_hex(row.kernel_hash)); }},
    {"noise_us", [](const RankedRow& row) { return known(row.noise_ns / 1e3); }},
    {"reference_noise_us", [](const RankedRow& row) { return known(row.reference_noise_ns / 1e3); }},
    {"run_count", [](const RankedRow& row) { return Cell(static_cast<std::uint64_t>(row.runs.size())); }},
    {"sample_count", [](const RankedRow& row) { return Cell(std::uint64_t{row.sample_count}); }},
    {"tie_count", [](const RankedRow& row) { return row.rank == 0 ? Cell() : Cell(std::uint64_t{row.tie_count}); }},
    {"noisy", [](const RankedRow& row) { return Cell(row.is_noisy); }},
};

std::string summary_line(const DeviceSummary& summary) {
  std::string line = printable(summary.device_model) +
                     (summary.baseline == Baseline::eager
                          ? ""
                          : " compared with the reference under torch." + std::string(to_string(summary.baseline))) +
                     ": " + std::to_string(summary.solved_count) + " of " + std::to_string(summary.problem_count) +
                     (summary.problem_count == 1 ? " problem" : " problems") + " solved, geometric mean speedup " +
                     speedup_text(summary.geometric_mean_speedup) + ", fast_p";
  for (const auto& [p, fraction] : summary.fast_p) line += " " + short_number(p) + ":" + fixed(fraction, 2);
  return line + '\n';
}

double speedup_noise(const LeaderboardRow& row) {
  if (row.median_ns <= 0 || row.reference_ns <= 0 || row.noise_ns <= 0) return 0;
  return row.speedup * std::hypot(row.noise_ns / row.median_ns, row.reference_noise_ns / row.reference_ns);
}

}  // namespace

std::string remarks(const LeaderboardRow& row) {
  std::string text;
  if (row.streams != Streams::reject) text += " (streams " + std::string(to_string(row.streams)) + ")";
  if (row.graphs != Graphs::reject) text += " (graphs " + std::string(to_string(row.graphs)) + ")";
  if (row.fell_back) text += " (fallback)";
  if (row.is_decoy) text += " (decoy)";
  if (row.has_findings) text += " (findings)";
  return text;
}

std::vector<DeviceSummary> Leaderboard::summaries() const {
  std::map<std::pair<std::string, Baseline>, std::vector<LeaderboardRow>> groups;
  for (const RankedRow& row : rows) groups[{row.device_model, row.baseline}].push_back(row);
  std::vector<DeviceSummary> found;
  for (const auto& [group, best] : groups) {
    DeviceSummary& summary = found.emplace_back();
    std::tie(summary.device_model, summary.baseline) = group;
    const auto count = problem_counts.find(summary.baseline);
    summary.problem_count = count == problem_counts.end() ? problem_count : count->second;
    summary.solved_count = best.size();
    summary.geometric_mean_speedup = kq::geometric_mean_speedup(best);
    for (double p : kThresholds) summary.fast_p.emplace_back(p, kq::fast_p(best, summary.problem_count, p));
  }
  return found;
}

void LeaderboardBuilder::add(const RunRow& row) {
  const Submission& submission = row.entry.submission;
  problems_[submission.trials.baseline].emplace(submission.problem.name, board_hash(submission));
  if (!row.result) return;
  if (auto ranked = board_row(submission, *row.result, row.job.seq, row.job.finished_at_ms)) {
    if (leaves_out_findings_ && ranked->has_findings) {
      ++left_out_count_;
      return;
    }
    ranked->submitter = row.entry.submitter;
    passed_.push_back(std::move(*ranked));
  }
}

Leaderboard LeaderboardBuilder::finish() {
  Leaderboard board{.run = run_, .left_out_count = left_out_count_, .rows = best_of(passed_)};
  std::ranges::stable_sort(
      board.rows, [](const RankedRow& a, const RankedRow& b) { return natural_order(a.problem, b.problem) < 0; });
  for (const auto& [baseline, problems] : problems_) {
    board.problem_counts[baseline] = problems.size();
    board.problem_count += problems.size();
  }
  return board;
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
  std::map<Baseline, std::set<Hash>> problems;
  Leaderboard board;
  for (LeaderboardRow& row : *rows) {
    problems[row.baseline].insert(row.problem_hash);
    board.rows.push_back({std::move(row), 0, 0});  // the kernels with the same rank are not known here
  }
  for (const auto& [baseline, hashes] : problems) {
    board.problem_counts[baseline] = hashes.size();
    board.problem_count += hashes.size();
  }
  return board;
}

std::string leaderboard_table(const Leaderboard& board) {
  if (board.rows.empty())
    return board.left_out_count > 0 ? "no job has passed without findings yet\n" : "no job has passed yet\n";
  const auto any = [&](auto&& holds) { return std::ranges::any_of(board.rows, holds); };
  const bool has_ties = any([](const RankedRow& row) { return row.tie_count > 0; });
  const bool has_baselines = any([](const RankedRow& row) { return row.baseline != Baseline::eager; });
  const bool has_fallback = any([](const RankedRow& row) { return row.fell_back; });
  const bool has_decoy = any([](const RankedRow& row) { return row.is_decoy; });
  const bool has_findings = any([](const RankedRow& row) { return row.has_findings; });
  const bool has_noisy = any([](const RankedRow& row) { return row.is_noisy; });
  std::vector<TableColumn> columns{{"problem"}, {"device"}, {"median", true}, {"reference", true}, {"speedup", true}};
  if (has_baselines) columns.push_back({"baseline"});
  if (has_ties) columns.push_back({"ties", true});
  columns.insert(columns.end(), {{"label"}, {"backend"}, {"author"}, {"submitter"}});
  std::vector<std::vector<std::string>> cells;
  for (const RankedRow& row : board.rows) {
    std::vector<std::string>& line = cells.emplace_back();
    line = {row.problem, row.device_model,
            (row.is_noisy ? "~" : "") + time_text(row.median_ns) + noise_text(row.median_ns, row.noise_ns),
            time_text(row.reference_ns) + noise_text(row.reference_ns, row.reference_noise_ns),
            speedup_text(row.speedup) + noise_text(row.speedup, speedup_noise(row))};
    if (has_baselines) line.emplace_back(to_string(row.baseline));
    if (has_ties) line.push_back(row.tie_count == 0 ? "" : std::to_string(row.tie_count));
    line.insert(line.end(), {row.label, row.backend + remarks(row), row.author, row.submitter});
  }
  std::string text = table(columns, cells);
  if (has_fallback) text += "(fallback): an extension does not compile, and the submission runs without it\n";
  if (has_decoy) text += "(decoy): the submission has kernels, and the GPU ran none of them\n";
  if (has_findings) text += "(findings): the guard has found something for review; the column findings has it\n";
  if (has_ties) text += "ties: other kernels share the first place, because the noise is larger than the difference\n";
  if (has_noisy) text += "~: the machine was busy while this was measured; measure again on a quiet one\n";
  for (const DeviceSummary& summary : board.summaries()) text += summary_line(summary);
  return text;
}

std::string leaderboard_csv(const Leaderboard& board) {
  std::vector<Cell> cells;
  for (const BoardColumn& column : kBoardColumns) cells.emplace_back(std::string(column.name));
  std::string text = csv_line(cells);
  for (const RankedRow& row : board.rows) {
    cells.clear();
    for (const BoardColumn& column : kBoardColumns) cells.push_back(column.get(row));
    text += csv_line(cells);
  }
  return text;
}

producer::Json leaderboard_json(const Leaderboard& board) {
  producer::JsonArray rows;
  for (const RankedRow& row : board.rows) {
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
                              {"baseline", {std::string(to_string(summary.baseline))}},
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
