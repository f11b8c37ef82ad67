// The columns of every machine-readable output: one table, from which csv, jsonl, --json and --schema are made.
//
// Rules for change: a column may only be added, at the end. No column is renamed, removed or moved, and none changes
// its unit.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/records.h"
#include "tools/table/cell.h"

namespace kq::tools {

inline constexpr std::string_view kRowSchema = "kq.result/1";

// The type of the values of a column. A time is text by RFC 3339 in UTC; an integer above 2^53 is text in JSON.
enum class ColumnType { text, integer, number, boolean, time };

struct Column {
  std::string_view name;
  ColumnType type;
  std::string_view unit;  // empty for none
  std::string_view doc;
  Cell (*get)(const RunRow& row);
};

std::span<const Column> columns();

// Returns a row as an object with all columns.
producer::Json to_json(const RunRow& row);

}  // namespace kq::tools
