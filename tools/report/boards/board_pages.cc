#include "tools/report/boards/board_pages.h"

#include <algorithm>
#include <cstdio>

#include "producer/client/json.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/boards/board_feed.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"

namespace kq::tools {
namespace {

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string cell(const std::string& shown, double value) {
  return "<td class=\"n\" data-value=\"" + (value > 0 ? number(value) : "") + "\">" + html_text(shown) + "</td>";
}

std::string noise_text(const BoardEntry& entry) {
  if (entry.spread_pct < 0) return "";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, entry.spread_pct < 9.95 ? "±%.1f %%" : "±%.0f %%", entry.spread_pct);
  return buffer;
}

// The label of an entry, as a link to the job in the report of its run.
std::string kernel_html(const BoardEntry& entry, const BoardPagesOptions& options, const char* up) {
  const auto report = options.report_of_run.find(entry.run);
  const std::string label = html_text(entry.row.label) + (entry.row.fell_back ? " (fallback)" : "");
  if (report == options.report_of_run.end()) return label;
  return std::string("<a href=\"") + up + "runs/" + address_of(report->second) +
         "#job=" + std::to_string(entry.row.seq) + "\">" + label + "</a>";
}

std::string backend_text(const BoardEntry& entry) {
  return entry.row.backend + (entry.is_self_reported ? " (self-reported)" : "");
}

// Returns whether the entries of a board have several submitters, so that a column tells more than the page's owner.
bool has_submitters(const Board& board) {
  return std::any_of(board.entries.begin(), board.entries.end(), [&](const BoardEntry& entry) {
    return entry.row.submitter != board.entries.front().row.submitter;
  });
}

std::string entry_row(const BoardEntry& entry, bool is_tied_with_others, bool shows_submitter,
                      const BoardPagesOptions& options) {
  const LeaderboardRow& row = entry.row;
  return "<tr><td class=\"n\" data-value=\"" + std::to_string(entry.rank) + "\">" + (is_tied_with_others ? "≈ " : "") +
         std::to_string(entry.rank) + "</td><td>" + kernel_html(entry, options, "../") + "</td><td>" +
         html_text(row.author) + "</td><td>" + (shows_submitter ? html_text(row.submitter) + "</td><td>" : "") +
         html_text(backend_text(entry)) + "</td>" +
         cell(time_text(row.median_ns), row.median_ns) + "<td class=\"n\" data-value=\"" +
         (entry.spread_pct < 0 ? "" : number(entry.spread_pct)) + "\">" + html_text(noise_text(entry)) + "</td>" +
         cell(time_text(row.reference_ns), row.reference_ns) + cell(speedup_text(row.speedup), row.speedup) + "<td>" +
         html_text(entry.run) + "</td><td data-value=\"" + std::to_string(row.finished_at_ms) + "\">" +
         minute_text(row.finished_at_ms) + "</td></tr>\n";
}

std::string history_values(const Board& board) {
  std::string text = "[";
  for (const BoardEntry& entry : board.history) {
    text += (text.size() > 1 ? ",\n{\"at\": " : "{\"at\": ") + std::to_string(entry.row.finished_at_ms) +
            ", \"us\": " + number(entry.row.median_ns / 1e3) + ", \"label\": ";
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
  html += "<ol reversed>";
  for (std::size_t i = board.history.size(); i-- > 0;) {
    const BoardEntry& entry = board.history[i];
    html += "<li>" + minute_text(entry.row.finished_at_ms) + ": " + kernel_html(entry, options, "../") + ", " +
            html_text(time_text(entry.row.median_ns));
    if (i > 0)
      html += ", " + html_text(speedup_text(board.history[i - 1].row.median_ns / entry.row.median_ns)) +
              " of the record before";
    html += "</li>\n";
  }
  return html + "</ol></section>\n";
}

std::string board_page(const PageFiles& files, const Board& board, const BoardPagesOptions& options) {
  std::map<std::size_t, std::size_t> count_by_rank;
  for (const BoardEntry& entry : board.entries) ++count_by_rank[entry.rank];
  const bool shows_submitter = has_submitters(board);
  std::string body =
      "<header class=\"top\"><div><p class=\"kind\"><a href=\"../index.html\">Leaderboards</a></p><h1>" +
      html_text(board.problem) + "</h1><p class=\"quiet\">" + html_text(board.device_model) +
      " · reference: " + html_text(board.baseline) + " · problem " + to_hex(board.problem_hash).substr(0, 12) +
      "</p></div></header>\n<main>\n<section><h2>Entries</h2><div class=\"scroll\">"
      "<table class=\"plain sortable\" id=\"entries\"><thead><tr><th class=\"n\">rank</th><th>kernel</th>"
      "<th>author</th>" +
      std::string(shows_submitter ? "<th>submitter</th>" : "") +
      "<th>backend</th><th class=\"n\">median</th><th class=\"n\">noise</th>"
      "<th class=\"n\">reference</th><th class=\"n\">speedup</th><th>run</th><th>finished</th></tr></thead>"
      "<tbody>\n";
  for (const BoardEntry& entry : board.entries) body += entry_row(entry, count_by_rank[entry.rank] > 1, shows_submitter, options);
  body += "</tbody></table></div>";
  if (board.entry_count > board.entries.size())
    body += "<p class=\"quiet\">Shown are the fastest " + std::to_string(board.entries.size()) + " of " +
            std::to_string(board.entry_count) + " entries.</p>";
  body +=
      "<p class=\"quiet\">≈ marks entries that share a rank: their medians do not differ by more than twice the "
      "standard error of the difference.</p></section>\n" +
      history_html(board, options) + "</main>\n" + footer_html(files, options.source, options.made_at);
  Page page{.title = board.problem + " on " + board.device_model + " - kq leaderboard",
            .body = std::move(body),
            .data = {{"specifications", packed(files.plots)}, {"history", packed(history_values(board))}},
            .scripts = {files.common, files.tables},
            .linked = board.history.size() > 1 && !files.vega.empty() ? "../assets/vega.js" : ""};
  return page_html(files, page);
}

std::string index_row(const Board& board, const BoardPagesOptions& options) {
  const BoardEntry& best = board.entries.front();
  std::size_t tied = 0;
  for (const BoardEntry& entry : board.entries) tied += entry.rank == 1 ? 1 : 0;
  return "<tr data-choice=\"" + html_text(board.device_model) + "\"><td><a href=\"boards/" + address_of(board.slug()) +
         ".html\">" + html_text(board.problem) + "</a></td><td>" + html_text(board.device_model) + "</td><td>" +
         html_text(board.baseline) + "</td><td>" + kernel_html(best, options, "") +
         (tied > 1 ? " <span class=\"quiet\">≈ " + producer::counted(tied - 1, "other") + "</span>" : "") +
         "</td><td>" + html_text(best.row.author) + "</td>" + cell(time_text(best.row.median_ns), best.row.median_ns) +
         "<td class=\"n\" data-value=\"" + (best.spread_pct < 0 ? "" : number(best.spread_pct)) + "\">" +
         html_text(noise_text(best)) + "</td>" + cell(speedup_text(best.row.speedup), best.row.speedup) +
         "<td class=\"n\">" + std::to_string(board.entry_count) + "</td><td data-value=\"" +
         std::to_string(board.history.back().row.finished_at_ms) + "\">" +
         minute_text(board.history.back().row.finished_at_ms) + "</td></tr>\n";
}

std::string index_page(const PageFiles& files, std::span<const Board> boards, const BoardPagesOptions& options) {
  std::string body =
      "<header class=\"top\"><div><h1>Leaderboards</h1><p class=\"quiet\">" +
      producer::counted(boards.size(), "board") +
      " · <a href=\"feed.xml\">feed of new records</a> · <a href=\"boards.json\">JSON</a></p></div></header>\n"
      "<main>\n<section><div class=\"scroll\"><table class=\"plain sortable\" id=\"boards\" "
      "data-choice=\"device\"><thead><tr><th>problem</th><th>device</th><th>reference</th><th>record</th>"
      "<th>author</th><th class=\"n\">median</th><th class=\"n\">noise</th><th class=\"n\">speedup</th>"
      "<th class=\"n\">entries</th><th>record since</th></tr></thead><tbody>\n";
  for (const Board& board : boards) body += index_row(board, options);
  body += "</tbody></table></div></section>\n</main>\n" + footer_html(files, options.source, options.made_at);
  return page_html(files, {.title = "Leaderboards - kq",
                           .body = std::move(body),
                           .data = {},
                           .scripts = {files.common, files.tables},
                           .head = "<link rel=\"alternate\" type=\"application/atom+xml\" title=\"New records\" "
                                   "href=\"feed.xml\">\n"});
}

}  // namespace

std::set<std::string> runs_on(std::span<const Board> boards) {
  std::set<std::string> runs;
  for (const Board& board : boards) {
    for (const BoardEntry& entry : board.entries) runs.insert(entry.run);
    for (const BoardEntry& entry : board.history) runs.insert(entry.run);
  }
  return runs;
}

std::vector<BoardFile> board_pages(const PageFiles& files, std::span<const Board> boards,
                                   const BoardPagesOptions& options) {
  std::vector<BoardFile> pages;
  pages.push_back({"index.html", index_page(files, boards, options)});
  pages.push_back({"boards.json", boards_json(boards, options.made_at)});
  pages.push_back({"feed.xml", boards_feed(boards, options.base_url, options.made_at)});
  if (!files.vega.empty()) pages.push_back({"assets/vega.js", files.vega});
  for (const Board& board : boards)
    pages.push_back({"boards/" + board.slug() + ".html", board_page(files, board, options)});
  return pages;
}

}  // namespace kq::tools
