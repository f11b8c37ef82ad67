#include "tools/report/boards/board_cells.h"

#include <cstdio>

#include "tools/cli/text.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/views/boards.h"

namespace kq::tools {
namespace {

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

}  // namespace

std::string figure_cell(const std::string& html, double value, std::string_view more_class) {
  return "<td class=\"n" + std::string(more_class) + "\" data-value=\"" + (value > 0 ? number(value) : "") + "\">" +
         html + "</td>";
}

std::string noise_cell(const BoardEntry& entry) {
  return figure_cell(html_text(noise_text(entry)), entry.noise_pct, " more");
}

std::string speedup_cell(const BoardEntry& entry, bool has_time_below) {
  const double speedup = entry.row.speedup;
  return figure_cell("<b class=\"" + std::string(speedup > 1 ? "up" : "down") + "\">" +
                         html_text(speedup_text(speedup)) + "</b>" +
                         (has_time_below ? narrow_line({time_text(entry.row.median_ns)}) : ""),
                     speedup);
}

std::string text_cell(const std::string& html, bool is_more) {
  return (is_more ? "<td class=\"more\">" : "<td>") + html + "</td>";
}

std::string time_cell(std::int64_t unix_ms, bool is_more) {
  return "<td class=\"when" + std::string(is_more ? " more" : "") + "\" data-value=\"" + std::to_string(unix_ms) +
         "\">" + minute_text(unix_ms) + "</td>";
}

std::string noise_text(const BoardEntry& entry) {
  if (entry.noise_pct < 0) return "";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, entry.noise_pct < 9.95 ? "±%.1f %%" : "±%.0f %%", entry.noise_pct);
  return buffer;
}

std::string backend_text(const BoardEntry& entry) {
  return entry.row.backend + remarks(entry.row) + (entry.is_self_reported ? " (self-reported)" : "");
}

std::string kernel_html(const BoardEntry& entry, const BoardPagesOptions& options, std::string_view up) {
  const auto report = options.report_of_run.find(entry.run);
  const std::string label = name_html(entry.row.label) + (entry.row.fell_back ? " (fallback)" : "");
  if (report == options.report_of_run.end()) return label;
  return "<a href=\"" + std::string(up) + "runs/" + address_of(report->second) +
         "#job=" + std::to_string(entry.row.seq) + "\">" + label + "</a>";
}

std::string board_address(const Board& board) {
  return "boards/" + address_of(board.slug()) + ".html";
}

}  // namespace kq::tools
