#include "tools/views/board_formats.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "producer/client/board_noise.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/table/cell.h"
#include "tools/table/columns.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

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

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

producer::Json texts(const std::vector<std::string>& names) {
  producer::JsonArray array;
  for (const std::string& name : names) array.push_back({name});
  return {std::move(array)};
}

Cell ties_if_known(const Standing& one) {
  return one.are_ties_known ? Cell(std::uint64_t{one.row.tie_count}) : Cell();
}

struct BoardColumn {
  std::string_view name;
  Cell (*get)(const Standing& one);
};
// As in tools/table/columns.h, columns are only ever added at the end.
constexpr BoardColumn kBoardColumns[] = {
    {"problem", [](const Standing& one) { return known(one.row.problem); }},
    {"problem_hash", [](const Standing& one) { return known(to_hex(one.row.problem_hash)); }},
    {"device_model", [](const Standing& one) { return known(one.row.device_model); }},
    {"job_id", [](const Standing& one) { return Cell(std::uint64_t{one.row.seq}); }},
    {"label", [](const Standing& one) { return known(one.row.label); }},
    {"author", [](const Standing& one) { return known(one.row.author); }},
    {"backend", [](const Standing& one) { return known(one.row.backend); }},
    {"median_us", [](const Standing& one) { return known(one.row.median_ns / 1e3); }},
    {"reference_us", [](const Standing& one) { return known(one.row.reference_ns / 1e3); }},
    {"speedup", [](const Standing& one) { return known(one.row.speedup); }},
    {"finished_at", [](const Standing& one) { return utc_time(one.row.finished_at_ms); }},
    {"fell_back", [](const Standing& one) { return Cell(one.row.fell_back); }},
    {"submitter", [](const Standing& one) { return known(one.row.submitter); }},
    {"decoy", [](const Standing& one) { return Cell(one.row.is_decoy); }},
    {"streams", [](const Standing& one) { return Cell(std::string(to_string(one.row.streams))); }},
    {"graphs", [](const Standing& one) { return Cell(std::string(to_string(one.row.graphs))); }},
    {"findings", [](const Standing& one) { return Cell(one.row.has_findings); }},
    {"baseline", [](const Standing& one) { return Cell(std::string(to_string(one.row.baseline))); }},
    {"kernel_hash", [](const Standing& one) { return known(to_hex(one.row.kernel_hash)); }},
    {"noise_us", [](const Standing& one) { return known(one.row.noise_ns / 1e3); }},
    {"reference_noise_us", [](const Standing& one) { return known(one.row.reference_noise_ns / 1e3); }},
    {"run_count", [](const Standing& one) { return Cell(static_cast<std::uint64_t>(one.row.runs.size())); }},
    {"sample_count", [](const Standing& one) { return Cell(std::uint64_t{one.row.sample_count}); }},
    {"tie_count", ties_if_known},
    {"noisy", [](const Standing& one) { return Cell(one.row.is_noisy); }},
    {"rank", [](const Standing& one) { return Cell(std::uint64_t{one.row.rank}); }},
    {"speedup_noise", [](const Standing& one) { return known(producer::speedup_noise(one.row)); }},
    {"runs", [](const Standing& one) { return known(joined(one.run_names)); }},
    {"value", [](const Standing& one) { return one.value == kNoValue ? Cell() : known(one.value); }},
};

std::string summary_line(const DeviceSummary& summary) {
  std::string line = (summary.value.empty() ? "" : printable(summary.value) + " on ") +
                     printable(summary.device_model) +
                     (summary.baseline == Baseline::eager
                          ? ""
                          : " compared with the reference under torch." + std::string(to_string(summary.baseline))) +
                     ": " + std::to_string(summary.solved_count) + " of " + std::to_string(summary.problem_count) +
                     (summary.problem_count == 1 ? " problem" : " problems") + " solved, geometric mean speedup " +
                     speedup_text(summary.geometric_mean_speedup) + ", fast_p";
  for (const auto& [p, fraction] : summary.fast_p) line += " " + short_number(p) + ":" + fixed(fraction, 2);
  return line + '\n';
}

constexpr std::size_t kOtherNamesShown = 3;  // of a problem, in a sentence

// What occurs in the rows of a table, and so needs a column or a sentence.
struct Occurring {
  bool ties = false, baselines = false, fallback = false, decoy = false, findings = false, noisy = false;
  bool several_jobs = false;           // of a kernel
  std::set<std::string> shared_names;  // of problems whose boards a table could not tell apart

  explicit Occurring(const std::vector<Standing>& rows) {
    std::map<std::vector<std::string>, Hash> hashes;  // by what a table shows of a board
    for (const Standing& one : rows) {
      ties = ties || one.row.tie_count > 0;
      baselines = baselines || one.row.baseline != Baseline::eager;
      fallback = fallback || one.row.fell_back;
      decoy = decoy || one.row.is_decoy;
      findings = findings || one.row.has_findings;
      noisy = noisy || one.row.is_noisy;
      several_jobs = several_jobs || one.row.runs.size() > 1;
      const auto [known, is_new] =
          hashes.try_emplace({one.row.problem, one.row.device_model, std::string(to_string(one.row.baseline)),
                              std::string(to_string(one.row.streams)), std::string(to_string(one.row.graphs))},
                             one.row.problem_hash);
      if (!is_new && known->second != one.row.problem_hash) shared_names.insert(one.row.problem);
    }
  }
};

struct TextColumn {
  TableColumn head;
  std::function<std::string(const Standing&)> text;
};

std::vector<TextColumn> text_columns(const Leaderboard& board, const Occurring& occurring) {
  std::vector<TextColumn> columns;
  const auto add = [&](TableColumn head, std::function<std::string(const Standing&)> text, bool is_shown = true) {
    if (is_shown) columns.push_back({std::move(head), std::move(text)});
  };
  const bool is_ranking = board.is_ranking;
  add(
      {board.by}, [](const Standing& one) { return one.value; }, !board.by.empty());
  add({"problem"}, [&occurring](const Standing& one) { return board_name(one.row, occurring.shared_names); });
  add({"device"}, [](const Standing& one) { return one.row.device_model; });
  add(
      {"rank", true}, [](const Standing& one) { return rank_text(one.row); }, is_ranking);
  add({"median", true}, [](const Standing& one) { return noisy_time_text(one.row); });
  add({"reference", true}, [](const Standing& one) { return reference_text(one.row); });
  add({"speedup", true}, [](const Standing& one) { return noisy_speedup_text(one.row); });
  add(
      {"baseline"}, [](const Standing& one) { return std::string(to_string(one.row.baseline)); },
      is_ranking || occurring.baselines);
  add(
      {"ties", true},
      [](const Standing& one) { return one.row.tie_count == 0 ? "" : std::to_string(one.row.tie_count); },
      !is_ranking && occurring.ties);
  add(
      {"jobs", true}, [](const Standing& one) { return std::to_string(one.row.runs.size()); },
      is_ranking || occurring.several_jobs);
  add(
      {"samples", true}, [](const Standing& one) { return std::to_string(one.row.sample_count); }, is_ranking);
  add({"label"}, [](const Standing& one) { return one.row.label; });
  add(
      {"run"}, [](const Standing& one) { return joined(one.run_names); }, is_ranking);
  add({"backend"}, [](const Standing& one) { return one.row.backend + remarks(one.row); });
  add({"author"}, [](const Standing& one) { return one.row.author; });
  add({"submitter"}, [](const Standing& one) { return one.row.submitter; });
  return columns;
}

}  // namespace

std::string board_name(const LeaderboardRow& row, const std::set<std::string>& shared_names) {
  constexpr std::size_t kHashShown = 8;  // hexadecimal digits
  const bool is_shared = shared_names.contains(row.problem);
  return row.problem + (is_shared ? " (" + to_hex(row.problem_hash).substr(0, kHashShown) + ")" : "");
}

std::set<std::string> shared_names(const std::vector<Standing>& rows) {
  return Occurring(rows).shared_names;
}

std::string noisy_time_text(const LeaderboardRow& row) {
  return (row.is_noisy ? "~" : "") + time_text(row.median_ns) + noise_text(row.median_ns, row.noise_ns);
}

std::string reference_text(const LeaderboardRow& row) {
  return time_text(row.reference_ns) + noise_text(row.reference_ns, row.reference_noise_ns);
}

std::string noisy_speedup_text(const LeaderboardRow& row) {
  return speedup_text(row.speedup) + noise_text(row.speedup, producer::speedup_noise(row));
}

std::string rank_text(const RankedRow& row) {
  return (row.tie_count > 0 ? "≈ " : "") + std::to_string(row.rank);
}

std::string ties_text(const RankedRow& row) {
  return row.tie_count == 0 ? "" : " (≈ " + producer::counted(row.tie_count, "other") + ")";
}

namespace {

std::string partial_text(const Leaderboard& board) {
  if (board.partial_count == 0) return "";
  return producer::counted(board.partial_count, "passed job") +
         " ran a part of the problem's workloads, and no board counts such jobs\n";
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

std::string leaderboard_table(const Leaderboard& board) {
  if (board.rows.empty()) {
    if (board.partial_count > 0) return partial_text(board);
    return board.left_out_count > 0 ? "no job has passed without findings yet\n"
                                    : "no job has passed with a time yet\n";
  }
  const Occurring occurring(board.rows);
  const std::vector<TextColumn> columns = text_columns(board, occurring);
  std::vector<TableColumn> heads;
  for (const TextColumn& column : columns) heads.push_back(column.head);
  std::vector<std::vector<std::string>> cells;
  for (const Standing& one : board.rows) {
    std::vector<std::string>& line = cells.emplace_back();
    for (const TextColumn& column : columns) line.push_back(column.text(one));
  }
  std::string text = table(heads, cells);
  if (!occurring.shared_names.empty()) {
    text += std::string(kSharedNamesMeaning) + '\n';
  }
  if (occurring.fallback) text += "(fallback): an extension does not compile, and the submission runs without it\n";
  if (occurring.decoy) text += "(decoy): the submission has kernels, and the GPU ran none of them\n";
  if (occurring.findings) text += "(findings): the guard has found something for review; the column findings has it\n";
  if (occurring.ties)
    text += board.is_ranking
                ? "≈: " + std::string(kTiedMeans) + '\n'
                : "ties: other kernels share the first place, because the noise is larger than the difference\n";
  if (occurring.several_jobs)
    text +=
        "jobs: times are medians over the jobs of a kernel, which are those whose files are equal, under any label\n";
  if (occurring.noisy) text += "~: " + std::string(kBusyMeans) + '\n';
  text += partial_text(board);
  for (const DeviceSummary& summary : board.summaries()) text += summary_line(summary);
  return text;
}

std::string other_names_text(const std::set<std::string>& names) {
  if (names.empty()) return "";
  std::string listed;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count <= kOtherNamesShown) listed += (listed.empty() ? "" : ", ") + printable(name);
  }
  if (count > kOtherNamesShown) listed += " and " + producer::counted(count - kOtherNamesShown, "other name");
  return "kernels of the same problem were also sent as " + listed +
         " and are not listed here; kq leaderboard --problem " + printable(producer::shell_quoted(*names.begin())) +
         " lists " + (count == 1 ? "them" : "those of the first name") +
         ", and kq leaderboard names the fastest of all";
}

std::string leaderboard_csv(const Leaderboard& board) {
  std::vector<Cell> cells;
  for (const BoardColumn& column : kBoardColumns) cells.emplace_back(std::string(column.name));
  std::string text = csv_line(cells);
  for (const Standing& one : board.rows) {
    cells.clear();
    for (const BoardColumn& column : kBoardColumns) cells.push_back(column.get(one));
    text += csv_line(cells);
  }
  return text;
}

producer::Json leaderboard_json(const Leaderboard& board) {
  producer::JsonArray rows;
  for (const Standing& one : board.rows) {
    producer::JsonObject object;
    for (const BoardColumn& column : kBoardColumns)
      object.emplace_back(column.name, column.name == "runs" ? texts(one.run_names) : to_json(column.get(one)));
    rows.push_back({std::move(object)});
  }
  producer::JsonArray summaries;
  for (const DeviceSummary& summary : board.summaries()) {
    producer::JsonObject fast;
    for (const auto& [p, fraction] : summary.fast_p) fast.emplace_back(short_number(p), producer::Json{fraction});
    summaries.push_back(
        {producer::JsonObject{{"value", to_json(known(summary.value))},
                              {"device_model", {summary.device_model}},
                              {"baseline", {std::string(to_string(summary.baseline))}},
                              {"problems_n", {static_cast<std::int64_t>(summary.problem_count)}},
                              {"solved_n", {static_cast<std::int64_t>(summary.solved_count)}},
                              {"geometric_mean_speedup", to_json(known(summary.geometric_mean_speedup))},
                              {"fast_p", {std::move(fast)}}}});
  }
  return {producer::JsonObject{{"schema", {"kq.leaderboard/1"}},
                               {"run", to_json(known(board.run))},
                               {"by", to_json(known(board.by))},
                               {"problems_n", {static_cast<std::int64_t>(board.problem_count)}},
                               {"rows", {std::move(rows)}},
                               {"summaries", {std::move(summaries)}}}};
}

}  // namespace kq::tools
