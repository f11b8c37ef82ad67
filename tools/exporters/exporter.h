// The formats kq-dump writes: one file each beside this one, and one row each in the table. To add a format, add both.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/records.h"

namespace kq {

struct Exporter {
  std::string_view name;
  std::string_view doc;
  std::string (*header)();                // what stands before the first row
  std::string (*row)(const RunRow& row);  // with its line end
};

std::span<const Exporter> exporters();

// Null for an unknown name.
const Exporter* find_exporter(std::string_view name);

std::string csv_header();
std::string csv_row(const RunRow& row);
std::string jsonl_header();
std::string jsonl_row(const RunRow& row);

}  // namespace kq
