#include "tools/table/csv.h"

#include "tools/exporters/exporter.h"

namespace kq::tools {
namespace {

// Puts an apostrophe before text that a spreadsheet would take for a formula, because submissions and other users
// choose names and messages.
Cell defused(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  const bool is_formula =
      text != nullptr && !text->empty() && std::string_view("=+-@\t\r").find(text->front()) != std::string_view::npos;
  return is_formula ? Cell("'" + *text) : cell;
}

}  // namespace

Expected<std::unique_ptr<Export>> open_csv(const ExportOptions& options, const Selection& selection) {
  std::vector<Cell> names;
  for (const SelectedColumn& column : selection.columns()) names.emplace_back(std::string(column.name()));
  const bool excel_safe = options.excel_safe;
  return open_lines(options, selection, csv_line(names), [excel_safe](std::span<const Cell> cells, std::string& line) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += ',';
      excel_safe ? append_csv_field(defused(cells[i]), line) : append_csv_field(cells[i], line);
    }
    line += '\n';
  });
}

}  // namespace kq::tools
