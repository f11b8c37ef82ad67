#include "tools/columns.h"
#include "tools/exporters/exporter.h"

namespace kq {

std::string jsonl_header() {
  return "";
}

std::string jsonl_row(const RunRow& row) {
  return to_text(to_json(row)) + '\n';
}

}  // namespace kq
