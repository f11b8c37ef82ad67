#include "tools/report/boards/board_index.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/boards/board_cells.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

using producer::counted;

std::string tiles(std::span<const Board> boards) {
  std::set<std::string> problems, devices, authors;
  std::size_t entry_count = 0;
  for (const Board& board : boards) {
    problems.insert(board.problem);
    devices.insert(board.device_model);
    entry_count += board.entry_count;
    for (const Standing& entry : board.entries) {
      if (!entry.row.author.empty()) authors.insert(entry.row.author);
    }
  }
  const auto tile = [](std::size_t count, std::string_view noun) {
    const std::string words = counted(count, noun);
    return tile_html(words.substr(0, words.find(' ')), words.substr(words.find(' ') + 1), "");
  };
  std::string html = "<dl class=\"tiles\">" + tile(problems.size(), "problem") + tile(devices.size(), "device model") +
                     tile(entry_count, "passed kernel");
  if (!authors.empty()) html += tile(authors.size(), "author");
  return html + "</dl>\n";
}

struct Record {
  const Board* board;
  const Standing* entry;
  const Standing* before;  // null for the first record of a board
};

std::string newest_records(std::span<const Board> boards, const BoardPagesOptions& options) {
  std::vector<Record> records;
  for (const Board& board : boards) {
    for (std::size_t i = 1; i < board.history.size(); ++i)
      records.push_back({&board, &board.history[i], &board.history[i - 1]});
  }
  if (records.empty()) return "";
  std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return a.entry->row.finished_at_ms > b.entry->row.finished_at_ms;
  });
  if (records.size() > kNewestRecordsShown) records.resize(kNewestRecordsShown);
  std::string html =
      "<section><h2>Newest records</h2><div class=\"scroll\"><table class=\"plain\" id=\"newest\"><thead><tr>"
      "<th class=\"more\">finished</th><th>problem</th><th class=\"more\">device</th><th>kernel</th>"
      "<th class=\"more\">author</th><th class=\"n\">median</th><th class=\"n\">gain</th></tr></thead><tbody>\n";
  for (const Record& record : records) {
    const LeaderboardRow& row = record.entry->row;
    const double ratio = record.before->row.median_ns / row.median_ns;
    html += "<tr>" + time_cell(row.finished_at_ms, true) +
            text_cell("<a href=\"" + board_address(*record.board) + "\">" + name_html(record.board->problem) + "</a>" +
                      narrow_line({record.board->device_model})) +
            text_cell(html_text(record.board->device_model), true) +
            text_cell(kernel_html(*record.entry, options, "") + narrow_line({row.author})) +
            text_cell(html_text(row.author), true) + figure_cell(html_text(noisy_time_text(row)), row.median_ns) +
            figure_cell("<b class=\"up\">" + html_text(speedup_text(ratio)) + "</b>", ratio) + "</tr>\n";
  }
  return html + "</tbody></table></div></section>\n";
}

// Returns the boards of other problems with the name, device model and baseline of one of them.
std::set<const Board*> boards_of_one_name(std::span<const Board> boards) {
  std::map<std::vector<std::string>, std::vector<const Board*>> by_name;
  for (const Board& board : boards) by_name[{board.problem, board.device_model, board.baseline}].push_back(&board);
  std::set<const Board*> found;
  for (const auto& [name, alike] : by_name) {
    if (alike.size() > 1) found.insert(alike.begin(), alike.end());
  }
  return found;
}

std::string row_html(const Board& board, bool shows_baseline, bool shows_hash, const BoardPagesOptions& options) {
  const Standing& best = board.entries.front();
  const std::size_t tied = best.row.tie_count;
  return "<tr data-choice=\"" + html_text(board.device_model) + "\">" +
         text_cell("<a href=\"" + board_address(board) + "\">" + name_html(board.problem) + "</a>" +
                   (shows_hash ? " <span class=\"quiet\">" + to_hex(board.problem_hash).substr(0, 8) + "</span>" : "") +
                   narrow_line({board.device_model, shows_baseline ? board.baseline : ""})) +
         text_cell(html_text(board.device_model), true) +
         (shows_baseline ? text_cell(html_text(board.baseline), true) : "") +
         text_cell(kernel_html(best, options, "") +
                   (tied > 0 ? " <span class=\"quiet\">≈ " + counted(tied, "other") + "</span>" : "") +
                   narrow_line({best.row.author})) +
         text_cell(html_text(best.row.author), true) +
         figure_cell(html_text(median_text(best.row)), best.row.median_ns, " more") + noise_cell(best) +
         speedup_cell(best, true) +
         figure_cell(std::to_string(board.entry_count), static_cast<double>(board.entry_count), " more") +
         time_cell(board.history.back().row.finished_at_ms, true) + "</tr>\n";
}

}  // namespace

std::string board_index_page(const PageFiles& files, std::span<const Board> boards, const BoardPagesOptions& options) {
  const bool shows_baseline = std::any_of(
      boards.begin(), boards.end(), [&](const Board& board) { return board.baseline != boards.front().baseline; });
  std::string body =
      "<header class=\"top\"><div><h1>Leaderboards</h1><p class=\"quiet\">" + counted(boards.size(), "board") +
      " · <a href=\"feed.xml\">feed of new records</a> · <a href=\"boards.json\">JSON</a></p></div></header>\n"
      "<main>\n" +
      tiles(boards) + newest_records(boards, options) +
      "<section><h2>Boards</h2><div class=\"scroll\"><table class=\"plain sortable\" id=\"boards\" "
      "data-choice=\"device\" data-hint=\"problem, device, kernel, author\"><thead><tr><th>problem</th>"
      "<th class=\"more\">device</th>" +
      (shows_baseline ? "<th class=\"more\">reference</th>" : "") +
      "<th>record</th><th class=\"more\">author</th><th class=\"n more\">median</th><th class=\"n more\">noise</th>"
      "<th class=\"n\">speedup</th><th class=\"n more\">entries</th><th class=\"more\">record since</th></tr></thead>"
      "<tbody>\n";
  const std::set<const Board*> shared = boards_of_one_name(boards);
  for (const Board& board : boards) body += row_html(board, shows_baseline, shared.contains(&board), options);
  body += "</tbody></table></div>";
  std::vector<Standing> firsts;
  for (const Board& board : boards) firsts.push_back(board.entries.front());
  body += busy_html(firsts);
  if (!shows_baseline)
    body += "<p class=\"quiet\">All speedups are over the " + html_text(boards.front().baseline) + " reference.</p>";
  body += "</section>\n</main>\n" + footer_html(files, options.source, options.made_at);
  return page_html(files, {.title = "Leaderboards - kq",
                           .body = std::move(body),
                           .data = {},
                           .scripts = {files.common, files.tables},
                           .head = "<link rel=\"alternate\" type=\"application/atom+xml\" title=\"New records\" "
                                   "href=\"feed.xml\">\n"});
}

}  // namespace kq::tools
