// THE COLUMNS of every machine-readable output: one table, from which csv, jsonl, --json and --schema are made.
//
// Rules for change: a column is only ever added, at the end; none is renamed, removed or moved, and none changes its
// unit.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/records.h"
#include "tools/table/cell.h"

namespace kq::tools {

inline constexpr std::string_view kRowSchema = "kq.result/1";

// What a value is where there is one. A time is text as RFC 3339 in UTC; an integer above 2^53 is text in JSON.
enum class ColumnType { text, integer, number, boolean, time };

struct Column {
  std::string_view name;
  ColumnType type;
  std::string_view unit;  // empty where it has none
  std::string_view doc;
  Cell (*get)(const RunRow& row);
};

std::span<const Column> columns();

// One row with all its columns.
producer::Json to_json(const RunRow& row);

// RFC 3339 in UTC with microseconds; nothing for 0, which stands for "not yet".
Cell utc_time(std::int64_t unix_ms);

}  // namespace kq::tools
