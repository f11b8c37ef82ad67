#include "tools/table/csv.h"

#include "tools/exporters/exporter.h"

namespace kq::tools {
Expected<std::unique_ptr<Export>> open_csv(const ExportOptions& options, const Selection& selection) {
  std::vector<Cell> names;
  for (const SelectedColumn& column : selection.columns()) names.emplace_back(std::string(column.name()));
  return open_lines(options, selection, csv_line(names), [](std::span<const Cell> cells, std::string& line) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += ',';
      append_csv_field(cells[i], line);
    }
    line += '\n';
  });
}

}  // namespace kq::tools
