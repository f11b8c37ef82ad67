#include "tools/report/boards/board_pages.h"

#include <algorithm>

#include "producer/client/json.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/boards/board_cells.h"
#include "tools/report/boards/board_feed.h"
#include "tools/report/boards/board_index.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/table/cell.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

// Returns whether the entries of a board have several submitters, so that a column of them tells something.
bool has_submitters(const Board& board) {
  return std::any_of(board.entries.begin(), board.entries.end(),
                     [&](const Standing& entry) { return entry.row.submitter != board.entries.front().row.submitter; });
}

std::string tiles(const Board& board) {
  const Standing& best = board.entries.front();
  const std::size_t tied = best.row.tie_count;
  const std::string noise = noise_text(best);
  return "<dl class=\"tiles\">" + tile_html(median_text(best.row), "record", noise.empty() ? "" : "noise " + noise) +
         tile_html(noisy_speedup_text(best.row), "speedup", "the reference takes " + reference_text(best.row)) +
         tile_html(best.row.author.empty() ? best.row.label : best.row.author,
                   tied > 0 ? "holder, tied with " + producer::counted(tied, "other") : "holder of the record",
                   "since " + minute_text(board.history.back().row.finished_at_ms)) +
         tile_html(std::to_string(board.entry_count), board.entry_count == 1 ? "passed kernel" : "passed kernels",
                   producer::counted(board.history.size(), "record")) +
         "</dl>\n";
}

std::string runs_html(const Standing& entry) {
  std::string html;
  for (const std::string& run : entry.run_names) html += (html.empty() ? "" : ", ") + name_html(run);
  return html;
}

std::string entry_row(const Standing& entry, bool shows_submitter, const BoardPagesOptions& options) {
  const RankedRow& row = entry.row;
  return std::string(row.rank == 1 ? "<tr class=\"best\">" : "<tr>") +
         figure_cell(rank_text(row), static_cast<double>(row.rank)) +
         text_cell(kernel_html(entry, options, "../") + narrow_line({row.author, backend_text(entry)})) +
         text_cell(html_text(row.author), true) + (shows_submitter ? text_cell(html_text(row.submitter), true) : "") +
         text_cell(html_text(backend_text(entry)), true) +
         figure_cell(html_text(median_text(row)) + narrow_line({noise_text(entry)}), row.median_ns) +
         noise_cell(entry) + figure_cell(html_text(reference_text(row)), row.reference_ns, " more") +
         speedup_cell(entry, false) +
         figure_cell(std::to_string(row.runs.size()), static_cast<double>(row.runs.size()), " more") +
         figure_cell(std::to_string(row.sample_count), row.sample_count, " more") + text_cell(runs_html(entry), true) +
         time_cell(row.finished_at_ms, true) + "</tr>\n";
}

std::string history_values(const Board& board) {
  std::string text = "[";
  for (const Standing& entry : board.history) {
    text += (text.size() > 1 ? ",\n{\"at\": " : "{\"at\": ") + std::to_string(entry.row.finished_at_ms) + ", \"us\": ";
    append_json(Cell(entry.row.median_ns / 1e3), text);
    text += ", \"label\": ";
    producer::append_json(entry.row.label, text);
    text += ", \"author\": ";
    producer::append_json(entry.row.author, text);
    text += '}';
  }
  return text + "]";
}

std::string history_html(const Board& board, const BoardPagesOptions& options) {
  std::string html = "<section><h2>History of the record</h2>";
  if (board.history.size() > 1)
    html +=
        "<figure class=\"wide\"><div class=\"plot\" data-plot=\"history\" data-values=\"history\" role=\"img\" "
        "aria-label=\"History of the record\"></div></figure>";
  html +=
      "<div class=\"scroll\"><table class=\"plain\" id=\"history-table\"><thead><tr><th>since</th><th>kernel</th>"
      "<th class=\"more\">author</th><th class=\"n\">median</th><th class=\"n\">gain</th></tr></thead><tbody>\n";
  for (std::size_t i = board.history.size(); i-- > 0;) {
    const Standing& entry = board.history[i];
    const double ratio = i == 0 ? 0 : board.history[i - 1].row.median_ns / entry.row.median_ns;
    html += "<tr>" + time_cell(entry.row.finished_at_ms) +
            text_cell(kernel_html(entry, options, "../") + narrow_line({entry.row.author})) +
            text_cell(html_text(entry.row.author), true) +
            figure_cell(html_text(noisy_time_text(entry.row)), entry.row.median_ns) +
            figure_cell(i == 0 ? "first" : html_text(speedup_text(ratio)), ratio) + "</tr>\n";
  }
  return html + "</tbody></table></div></section>\n";
}

std::string entries_html(const Board& board, const BoardPagesOptions& options) {
  const bool shows_submitter = has_submitters(board);
  std::string html =
      "<section><h2>Entries</h2><div class=\"scroll\"><table class=\"plain sortable\" id=\"entries\" "
      "data-hint=\"kernel, author, backend, run\"><thead><tr><th class=\"n\">rank</th><th>kernel</th>"
      "<th class=\"more\">author</th>" +
      std::string(shows_submitter ? "<th class=\"more\">submitter</th>" : "") +
      "<th class=\"more\">backend</th><th class=\"n\">median</th><th class=\"n more\">noise</th>"
      "<th class=\"n more\">reference</th><th class=\"n\">speedup</th><th class=\"n more\">jobs</th>"
      "<th class=\"n more\">samples</th><th class=\"more\">run</th>"
      "<th class=\"more\">finished</th></tr></thead><tbody>\n";
  bool is_any_tied = false;
  for (const Standing& entry : board.entries) {
    is_any_tied = is_any_tied || entry.row.tie_count > 0;
    html += entry_row(entry, shows_submitter, options);
  }
  html += "</tbody></table></div>";
  if (board.entry_count > board.entries.size())
    html += "<p class=\"quiet\">Shown are the fastest " + std::to_string(board.entries.size()) + " of " +
            std::to_string(board.entry_count) + " entries.</p>";
  if (is_any_tied) html += "<p class=\"quiet\">≈: " + html_text(std::string(kTiedMeans)) + ".</p>";
  return html + busy_html(board.entries) + "</section>\n";
}

std::string board_page(const PageFiles& files, const Board& board, const BoardPagesOptions& options) {
  std::string body = "<header class=\"top\"><div><p class=\"kind\"><a href=\"../index.html\">Leaderboards</a></p><h1>" +
                     name_html(board.problem) + "</h1><p class=\"quiet\">" + html_text(board.device_model) +
                     " · reference: " + html_text(board.baseline) + " · problem " +
                     to_hex(board.problem_hash).substr(0, 12) + "</p></div></header>\n<main>\n" + tiles(board) +
                     entries_html(board, options) + history_html(board, options) + "</main>\n" +
                     footer_html(files, options.source, options.made_at);
  Page page{.title = board.problem + " on " + board.device_model + " - kq leaderboard",
            .body = std::move(body),
            .data = {{"specifications", packed(files.plots)}, {"history", packed(history_values(board))}},
            .scripts = {files.common, files.tables},
            .linked = board.history.size() > 1 && !files.vega.empty() ? "../assets/vega.js" : ""};
  return page_html(files, page);
}

}  // namespace

std::set<std::string> runs_on(std::span<const Board> boards) {
  std::set<std::string> runs;
  for (const Board& board : boards) {
    for (const Standing& entry : board.entries) runs.insert(entry.run());
    for (const Standing& entry : board.history) runs.insert(entry.run());
  }
  return runs;
}

std::vector<BoardFile> board_pages(const PageFiles& files, std::span<const Board> boards,
                                   const BoardPagesOptions& options) {
  std::vector<BoardFile> pages;
  pages.push_back({"index.html", board_index_page(files, boards, options)});
  pages.push_back({"boards.json", boards_json(boards, options.made_at)});
  pages.push_back({"feed.xml", boards_feed(boards, options.base_url, options.made_at)});
  if (!files.vega.empty()) pages.push_back({"assets/vega.js", files.vega});
  for (const Board& board : boards)
    pages.push_back({"boards/" + board.slug() + ".html", board_page(files, board, options)});
  return pages;
}

}  // namespace kq::tools
