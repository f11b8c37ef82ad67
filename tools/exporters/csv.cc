#include <vector>

#include "tools/columns.h"
#include "tools/csv.h"
#include "tools/exporters/exporter.h"

namespace kq {

std::string csv_header() {
  std::vector<Cell> names;
  for (const Column& column : columns()) names.emplace_back(std::string(column.name));
  return csv_line(names);
}

std::string csv_row(const RunRow& row) {
  std::vector<Cell> cells;
  cells.reserve(columns().size());
  for (const Column& column : columns()) cells.push_back(column.get(row));
  return csv_line(cells);
}

}  // namespace kq
