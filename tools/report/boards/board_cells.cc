#include "tools/report/boards/board_cells.h"

#include <algorithm>
#include <cstdio>

#include "producer/client/board_noise.h"
#include "tools/cli/text.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/views/board_formats.h"

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

std::string noise_cell(const Standing& entry) {
  return figure_cell(html_text(noise_text(entry)), noise_pct(entry.row), " more");
}

std::string speedup_cell(const Standing& entry, bool has_time_below) {
  const double speedup = entry.row.speedup;
  const std::string noise = kq::tools::noise_text(speedup, producer::speedup_noise(entry.row));
  return figure_cell("<b class=\"" + std::string(speedup > 1 ? "up" : "down") + "\">" +
                         html_text(speedup_text(speedup)) + "</b>" + html_text(noise) +
                         (has_time_below ? narrow_line({median_text(entry.row)}) : ""),
                     speedup);
}

std::string median_text(const LeaderboardRow& row) {
  return (row.is_noisy ? "~" : "") + time_text(row.median_ns);
}

double noise_pct(const LeaderboardRow& row) {
  return row.noise_ns > 0 && row.median_ns > 0 ? 100 * row.noise_ns / row.median_ns : -1;
}

std::string text_cell(const std::string& html, bool is_more) {
  return (is_more ? "<td class=\"more\">" : "<td>") + html + "</td>";
}

std::string time_cell(std::int64_t unix_ms, bool is_more) {
  return "<td class=\"when" + std::string(is_more ? " more" : "") + "\" data-value=\"" + std::to_string(unix_ms) +
         "\">" + minute_text(unix_ms) + "</td>";
}

std::string noise_text(const Standing& entry) {
  const double percent = noise_pct(entry.row);
  if (percent < 0) return "";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, percent < 9.95 ? "±%.1f %%" : "±%.0f %%", percent);
  return buffer;
}

std::string backend_text(const Standing& entry) {
  return entry.row.backend + remarks(entry.row) + (entry.is_self_reported ? " (self-reported)" : "");
}

std::string kernel_html(const Standing& entry, const BoardPagesOptions& options, std::string_view up) {
  const auto report = options.report_of_run.find(entry.run());
  const std::string label = name_html(entry.row.label) + (entry.row.fell_back ? " (fallback)" : "");
  if (report == options.report_of_run.end()) return label;
  return "<a href=\"" + std::string(up) + "runs/" + address_of(report->second) +
         "#job=" + std::to_string(entry.row.seq) + "\">" + label + "</a>";
}

std::string busy_html(std::span<const Standing> entries) {
  if (std::ranges::none_of(entries, [](const Standing& entry) { return entry.row.is_noisy; })) return "";
  return "<p class=\"quiet\">~: " + html_text(std::string(kBusyMeans)) + ".</p>";
}

std::string board_address(const Board& board) {
  return "boards/" + address_of(board.slug()) + ".html";
}

}  // namespace kq::tools
