// What one row of a dump stands for: a job, one case of its problem, one timed sample, or one figure of a profile. One
// table; to add a level, add a row.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tools/table/columns.h"

namespace kq::tools {

// A column that only exists below the job: `item` counts a job's rows at that level from 0.
struct ItemColumn {
  std::string_view name;
  ColumnType type;
  std::string_view unit;
  std::string_view doc;
  Cell (*get)(const RunRow& row, std::size_t item);
};

struct Level {
  std::string_view name;
  std::string_view doc;
  std::size_t (*items)(const RunRow& row);
  std::span<const ItemColumn> columns;  // stand behind those of the job
  std::span<const std::string_view>
      of_job;  // columns of the job that are shown unless others are asked for; empty: all
  bool needs_samples;
};

std::span<const Level> levels();

// Null for an unknown name.
const Level* find_level(std::string_view name);

}  // namespace kq::tools
