#include "tools/exporters/exporter.h"

namespace kq::tools {

Expected<std::unique_ptr<Export>> open_jsonl(const ExportOptions& options, const Selection& selection) {
  std::vector<std::string> keys;
  for (const SelectedColumn& column : selection.columns()) {
    keys.push_back((keys.empty() ? "{" : ", ") + producer::json_quoted(column.name()) + ": ");
  }
  return open_lines(options, selection, "", [keys = std::move(keys)](std::span<const Cell> cells, std::string& line) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += keys[i];
      append_json(cells[i], line);
    }
    line += "}\n";
  });
}

}  // namespace kq::tools
