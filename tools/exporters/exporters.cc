#include "tools/exporters/exporter.h"

namespace kq {
namespace {

constexpr Exporter kExporters[] = {
    {"csv", "RFC 4180, one header line, LF", csv_header, csv_row},
    {"jsonl", "one JSON object per line", jsonl_header, jsonl_row},
};

}  // namespace

std::span<const Exporter> exporters() {
  return kExporters;
}

const Exporter* find_exporter(std::string_view name) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.name == name) return &exporter;
  }
  return nullptr;
}

}  // namespace kq
